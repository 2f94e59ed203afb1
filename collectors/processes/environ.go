package processes

import (
	"bytes"
	"slices"
	"strings"
)

// environLimit is more than an environment can be: the kernel allows arguments and environment 6 MiB together
// (bprm_stack_limits in fs/exec.c).
const environLimit = 8 << 20

// keepMarkers takes the named variables out of the text of an environ file and drops everything else. The first of two with one
// name counts, as for getenv, and nil means missing. It reports false where the text proves nothing: the kernel gives no bytes and no error for an
// environment that it could not reach, the same as for an empty one, and cuts one that it could reach in part only.
func keepMarkers(text []byte, names []string) (map[string]string, bool) {
	if len(text) == 0 || text[len(text)-1] != 0 {
		return nil, false
	}
	var kept map[string]string
	for len(text) > 0 {
		end := bytes.IndexByte(text, 0)
		entry := text[:end]
		text = text[end+1:]
		eq := bytes.IndexByte(entry, '=')
		if eq <= 0 {
			continue
		}
		i := slices.IndexFunc(names, func(name string) bool { return name == string(entry[:eq]) })
		if i < 0 {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		if _, twice := kept[names[i]]; !twice {
			kept[names[i]] = string(entry[eq+1:])
		}
	}
	return kept, true
}

// arguments splits the text of a cmdline file. A program may have written over it.
func arguments(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}
