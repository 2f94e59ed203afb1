package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Mount is one line of a mountinfo file, see proc_pid_mountinfo(5).
type Mount struct {
	ID int
	// Device is major:minor of the file system, Root the folder of it that is mounted, Point where.
	Device, Root, Point string
	// Kind is the kind of file system.
	Kind string
	// Options are those of the file system, not of this one mount, as the kernel writes them.
	Options string
}

// ReadMounts reads a mountinfo file, most often /proc/self/mountinfo. A text that is not understood, or has no mount
// in it, is an error.
func ReadMounts(file string) ([]Mount, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	all, ok := ParseMounts(text)
	if !ok {
		return nil, fmt.Errorf("read mounts: %s is not understood", file)
	}
	return all, nil
}

// ParseMounts reads the text of a mountinfo file, and reports false where it is not understood.
func ParseMounts(text []byte) ([]Mount, bool) {
	var all []Mount
	for line := range bytes.Lines(text) {
		before, after, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " - ")
		f, g := strings.Split(before, " "), strings.Split(after, " ")
		if !ok || len(f) < 6 || len(g) < 3 || !strings.HasPrefix(f[4], "/") {
			return nil, false
		}
		id, err := strconv.Atoi(f[0])
		if err != nil {
			return nil, false
		}
		all = append(all, Mount{ID: id, Device: f[2], Root: Unescape(f[3]), Point: Unescape(f[4]), Kind: g[0], Options: g[len(g)-1]})
	}
	return all, len(all) > 0
}

// Unescape undoes the kernel's octal escapes of blanks, newlines and backslashes in paths.
func Unescape(s string) string {
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

// MountOf is the mount that path lies in: the deepest, and the last of those stacked on one place.
func MountOf(all []Mount, path string) (Mount, bool) {
	var best Mount
	found := false
	for _, m := range all {
		if IsBelow(path, m.Point) && len(m.Point) >= len(best.Point) {
			best, found = m, true
		}
	}
	return best, found
}

// IsBelow reports whether path is folder or lies in it. Both are absolute and clean.
func IsBelow(path, folder string) bool {
	if folder == "/" {
		return true
	}
	return strings.HasPrefix(path, folder) && (len(path) == len(folder) || path[len(folder)] == '/')
}

// FirstNamespace names the machine's first pid namespace (PROC_PID_INIT_INO, include/linux/proc_ns.h), as PIDNamespace does.
const FirstNamespace = "pid:[4026531836]"

// PIDNamespace names the pid namespace of this process.
func PIDNamespace(procRoot string) (string, error) {
	return os.Readlink(filepath.Join(procRoot, "self", "ns", "pid"))
}

// SharedOutside says of paths whether each may be used by processes that this pid namespace does not show: where it is
// not the machine's first one, and the path lies neither on the container's own root nor on a temporary file system in
// it. It says so too where that cannot be found out. mountinfo is the file that lists this process's mounts. It and
// the namespace are read once.
func SharedOutside(procRoot, mountinfo string) func(path string) bool {
	namespace, err := PIDNamespace(procRoot)
	if err == nil && namespace == FirstNamespace {
		return func(string) bool { return false }
	}
	all, listed := ReadMounts(mountinfo)
	return func(path string) bool {
		m, ok := MountOf(all, path)
		return err != nil || listed != nil || !ok || m.Point != "/" && m.Kind != "tmpfs"
	}
}
