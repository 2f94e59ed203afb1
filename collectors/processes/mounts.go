package processes

import (
	"bytes"
	"strconv"
	"strings"
)

// mount is one line of a mountinfo file, see proc_pid_mountinfo(5).
type mount struct {
	id int
	// device is major:minor of the file system, root the folder of it that is mounted, point where.
	device, root, point string
	kind                string
	// options are those of the file system, not of this one mount.
	options string
}

// parseMounts reads the text of a mountinfo file, and reports false where it is none.
func parseMounts(text []byte) ([]mount, bool) {
	var all []mount
	for line := range bytes.Lines(text) {
		m, ok := parseMount(strings.TrimSuffix(string(line), "\n"))
		if !ok {
			return nil, false
		}
		all = append(all, m)
	}
	return all, len(all) > 0
}

func parseMount(line string) (mount, bool) {
	before, after, ok := strings.Cut(line, " - ")
	f, g := strings.Split(before, " "), strings.Split(after, " ")
	if !ok || len(f) < 6 || len(g) < 3 {
		return mount{}, false
	}
	id, err := strconv.Atoi(f[0])
	if err != nil {
		return mount{}, false
	}
	return mount{id: id, device: f[2], root: unescape(f[3]), point: unescape(f[4]), kind: g[0], options: g[len(g)-1]}, true
}

// unescape undoes the kernel's octal escapes of blanks, newlines and backslashes in paths.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// mountOf is the mount that path lies in: the deepest, and the last of those stacked on one place.
func mountOf(all []mount, path string) (mount, bool) {
	var best mount
	found := false
	for _, m := range all {
		if under(path, m.point) && len(m.point) >= len(best.point) {
			best, found = m, true
		}
	}
	return best, found
}

// under reports whether path is folder or lies in it. Both are absolute and clean.
func under(path, folder string) bool {
	if folder == "/" {
		return true
	}
	return strings.HasPrefix(path, folder) && (len(path) == len(folder) || path[len(folder)] == '/')
}
