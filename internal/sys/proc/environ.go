package proc

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// Deleted is what the kernel writes behind the path of something that has no name any more (d_path in fs/d_path.c). A living folder
// may have a name that ends so.
const Deleted = " (deleted)"

// MaxTable is more than the table of any machine that this is meant for.
const MaxTable = 256 << 20

// MaxEnviron is more than an environment can be: the kernel allows arguments and environment 6 MiB together
// (bprm_stack_limits in fs/exec.c).
const MaxEnviron = 8 << 20

// Variables takes the named variables out of the text of an environ file and drops everything else. The first of two with one
// name counts, as for getenv, and nil means missing. It reports false where the text proves nothing: the kernel gives no bytes and no error for an
// environment that it could not reach, the same as for an empty one, and cuts one that it could reach in part only.
func Variables(text []byte, names []string) (map[string]string, bool) {
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

// Arguments splits the text of a cmdline file. A program may have written over it.
func Arguments(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// SocketInode takes the inode out of a descriptor's link such as socket:[4711].
func SocketInode(text []byte) (uint64, bool) {
	text, ok := bytes.CutPrefix(text, []byte("socket:["))
	if !ok {
		return 0, false
	}
	text, ok = bytes.CutSuffix(text, []byte("]"))
	if !ok {
		return 0, false
	}
	inode, err := strconv.ParseUint(string(text), 10, 64)
	return inode, err == nil
}
