package processes

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// tries is how often a process that changes under the eye is read again.
const tries = 3

// descend reads what lives below the processes that are read for their own sake as deep as those, everything afresh, so that a record never mixes two
// processes or two programs. A process that has ended by now is dropped.
func (s *scan) descend(ctx context.Context) error {
	all := s.found
	wanted := deeper(all)
	if len(wanted) == 0 {
		return nil
	}
	pids := make([]int, 0, len(wanted))
	s.found = slices.DeleteFunc(slices.Clone(all), func(r *record) bool {
		_, again := wanted[r.PID]
		if again {
			pids = append(pids, r.PID)
		}
		return again
	})
	return s.readEach(ctx, pids, func(by *scan, pid, dir int) {
		by.read(pid, dir, false, func(*record) depth { return wanted[pid] })
	})
}

// deeper says how deep the processes are to be read that live below one which was read deeper than they were, by their pids.
func deeper(found []*record) map[int]depth {
	wanted := map[int]depth{}
	queue := slices.DeleteFunc(slices.Clone(found), func(r *record) bool { return r.depth <= brief })
	if len(queue) == 0 {
		return nil
	}
	children := childrenOf(found)
	for ; len(queue) > 0; queue = queue[1:] {
		r := queue[0]
		for _, child := range children[r.PID] {
			if want := max(r.depth, wanted[r.PID]); want > max(child.depth, wanted[child.PID]) {
				wanted[child.PID] = want
				queue = append(queue, child)
			}
		}
	}
	return wanted
}

// readDepth is how deep a process is read for its own sake.
func (s *scan) readDepth(p *record) depth {
	marked := false // by a marker that not only says which pane it is in
	if p.Markers != nil {
		for name := range *p.Markers {
			marked = marked || !slices.Contains(s.o.Panes, name)
		}
	}
	c := s.o.Classes
	switch {
	case slices.Contains(s.o.Only, p.PID),
		len(s.o.Only) == 0 && s.o.All && *p.UID == s.uid && !p.IsKernel(),
		len(s.o.Only) == 0 && !s.o.All && (marked && slices.Contains(c, Marked) ||
			p.CwdDeleted != nil && *p.CwdDeleted && slices.Contains(c, CwdDeleted) ||
			p.InputEnded != nil && *p.InputEnded && slices.Contains(c, InputEnded) ||
			p.StartTicks > 0 && s.o.Remembered[p.PID] == p.StartTicks && slices.Contains(c, BelowAgent)):
		return full
	case marked:
		return served
	}
	return brief
}

// deepen reads the rest of a pinned process that was read in part. Where it executed another program or moved in between, it is read again; one that
// does so every time stays in part.
func (s *scan) deepen(dir int, r *record, before proc.Stat, want depth) (*record, error) {
	if want == served {
		s.opened(dir, before, r)
	}
	r.depth = want
	if want < full {
		return r, nil
	}
	for range tries {
		s.fill(dir, before, r)
		after, err := s.Stat(dir)
		if err != nil {
			return nil, err
		}
		if after.Gone() {
			r.ended() // it hides nothing, as in part
		}
		if before.SameProcess(after) && sameText(r.Exe, s.Exe(dir)) {
			return r, nil
		}
		if r, before, err = s.brief(dir, false); err != nil {
			return nil, err
		}
		r.depth = full
	}
	s.o.Log.Debug("process changes while it is read", "pid", r.PID)
	return r, nil
}

// fill adds the facts that only a full reading has.
func (s *scan) fill(dir int, st proc.Stat, r *record) {
	p := &r.Process
	p.Partial = false
	if p.Exe == nil { // of another user's, and where there are no markers, it was not asked for yet
		p.Exe = s.Exe(dir)
	}
	p.ArgvDigest = s.digest(dir)
	p.Inode = s.inode(p.PID)
	// All that was passed to write(2), reaped children's included, whether it went to a file, a pipe or a terminal (wchar of io, proc_pid_io(5)). The same
	// file's write_bytes leave out what a page took that was written to before, such as a log's next line.
	if text, err := proc.ReadOnce(dir, "io", s.Text); err == nil {
		if n, err := strconv.ParseInt(proc.Word(text, "wchar"), 10, 64); err == nil && n >= 0 {
			p.Written = &n
		}
	}
	if text, err := proc.Readlink(dir, "ns/pid", s.Link); err == nil {
		p.PIDNamespace = proc.Namespace(string(text))
	}
	if ignored, err := s.signals(dir, "SigIgn"); err == nil {
		p.IgnoresHangup = s.flag(ignored&hangup != 0)
	}
	p.StartedBy = s.startedBy(dir, r)
	s.opened(dir, st, r)
}

func sameText(a, b *string) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// digest is that of the command line, see proc.Digest; "" where it could not be read.
func (s *scan) digest(dir int) string {
	text, err := proc.Read(dir, "cmdline", s.Environ, proc.MaxEnviron)
	if err != nil {
		return ""
	}
	return proc.Digest(s.salt, text)
}

// inode is the pidfs inode. It is the pinned process's own because the process is shown to be alive afterwards, so no other
// process has its number. nil on kernels without pidfs.
func (s *scan) inode(pid int) *uint64 {
	if !s.root.Own {
		return nil
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	n, err := proc.Inode(fd)
	if err != nil || n == 0 {
		return nil
	}
	return &n
}

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
