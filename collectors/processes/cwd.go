package processes

import (
	"bytes"
	"errors"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// cwd reads the working directory into p, and reports whether the process refused to show it. It fails only for a process
// that has ended. A zombie has no working directory; where its threads live on, one of them shows it.
func (s *scan) cwd(dir int, st proc.Stat, p *snapshot.Process) (refused bool, err error) {
	if st.Gone() {
		return false, nil
	}
	name := "cwd"
	text, err := proc.Readlink(dir, name, s.Link)
	if err != nil && st.State == 'Z' {
		name, text, err = s.threadCwd(dir)
	}
	switch {
	case errors.Is(err, unix.ESRCH):
		return false, err
	case err != nil:
		return !st.Kernel, nil
	}
	gone := false
	if bare, ok := bytes.CutSuffix(text, []byte(proc.Deleted)); ok {
		var known bool
		if gone, known = s.settleDeleted(dir, name, string(text)); !known {
			return false, nil
		}
		if gone {
			text = bare
		}
	}
	p.Cwd, p.CwdDeleted = s.Names.Pointer(text), s.flag(gone)
	return false, nil
}

// threadCwd is the working directory of the first thread that has one.
func (s *scan) threadCwd(dir int) (name string, text []byte, err error) {
	threads, err := proc.List(dir, "task", s.Environ)
	if err != nil {
		return "", nil, err
	}
	err = unix.ENOENT
	for _, t := range threads {
		name = "task/" + strconv.Itoa(t) + "/cwd"
		if text, err = proc.Readlink(dir, name, s.Link); err == nil {
			return name, text, nil
		}
	}
	return "", nil, err
}

// settleDeleted finds out whether the folder at a path that ends in " (deleted)" is gone, and whether that can be known. A folder without a
// name has no link left. One whose file system counts no links is alive when it is what its path leads to.
func (s *scan) settleDeleted(dir int, name, path string) (gone, known bool) {
	var here, there unix.Stat_t
	err := unix.Fstatat(dir, name, &here, 0)
	switch {
	case err == nil && here.Nlink == 0, errors.Is(err, unix.ENOENT) && !s.root.Procfs:
		return true, true
	case err != nil:
		return false, false
	}
	return false, unix.Stat(path, &there) == nil && there.Dev == here.Dev && there.Ino == here.Ino
}
