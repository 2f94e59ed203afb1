package processes

import (
	"bytes"
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// allSeeing reports whether this process may trace all others, which nothing is hidden from: it has the capability, and has it
// over all users and not only over those of a user namespace of its own.
func allSeeing() bool {
	users, err := read(unix.AT_FDCWD, "/proc/self/uid_map", make([]byte, 4<<10), 64<<10)
	if err != nil || string(bytes.Join(bytes.Fields(users), []byte(" "))) != "0 0 4294967295" {
		return false
	}
	own, err := capabilities(unix.AT_FDCWD, "/proc/self/status", "CapEff:")
	return err == nil && own&(1<<unix.CAP_SYS_PTRACE) != 0
}

// stronger reports whether a pinned process is permitted capabilities that this process is not, for which the kernel does not
// show what it uses (ptrace(2), access mode checking).
func stronger(dir int) bool {
	own, err := capabilities(unix.AT_FDCWD, "/proc/self/status", "CapPrm:")
	if err != nil {
		return false
	}
	its, err := capabilities(dir, "status", "CapPrm:")
	return err == nil && its&^own != 0
}

// capabilities reads one set of them out of a status file, where everybody may read them.
func capabilities(dir int, name, set string) (uint64, error) {
	text, err := read(dir, name, make([]byte, 4<<10), 1<<20)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte(set)); ok {
			return strconv.ParseUint(string(bytes.TrimSpace(value)), 16, 64)
		}
	}
	return 0, errors.New("no " + set + " in it")
}
