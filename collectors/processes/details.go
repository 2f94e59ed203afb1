package processes

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"winnow/engine/snapshot"
	"winnow/internal/proc"
)

// tries is how often a process that changes under the eye is read again.
const tries = 3

// details reads in full what Options ask for, everything afresh, so that a record never mixes two processes or two programs. A
// process that has ended by now is dropped.
func (s *scan) details(ctx context.Context) error {
	full := wanted(s.found, s.chosen)
	if len(full) == 0 {
		return nil
	}
	for n, i := range full {
		if n%chunk == 0 && ctx.Err() != nil {
			return fmt.Errorf("read %s: stopped after %d of %d processes in full: %w", s.root.path, n, len(full), context.Cause(ctx))
		}
		p, err := s.full(s.found[i].PID)
		switch {
		case err == nil:
			s.found[i] = p
		case proc.Ended(err):
			s.found[i] = nil
		default:
			s.failed = append(s.failed, failure{s.found[i].PID, err})
		}
	}
	s.found = slices.DeleteFunc(s.found, func(r *record) bool { return r == nil })
	return nil
}

// chosen reports whether a process is read in full for its own sake.
func (s *scan) chosen(p *record) bool {
	switch {
	case s.o.Only > 0:
		return p.PID == s.o.Only
	case s.o.All:
		return *p.UID == s.uid && !p.kernel
	}
	return slices.Contains(s.o.Classes, Marked) && p.Markers != nil && len(*p.Markers) > 0 ||
		slices.Contains(s.o.Classes, CwdDeleted) && p.CwdDeleted != nil && *p.CwdDeleted ||
		slices.Contains(s.o.Classes, InputEnded) && p.InputEnded != nil && *p.InputEnded ||
		slices.Contains(s.o.Classes, Descended) && s.o.Remembered[p.PID] == p.StartTicks && p.StartTicks > 0
}

// full reads one process in full. Where it executed another program or moved in between, it is read again; one that does so
// every time stays in brief.
func (s *scan) full(pid int) (*record, error) {
	dir, err := s.root.open(pid)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	for range tries {
		before, err := s.stat(dir)
		if err != nil {
			return nil, err
		}
		p, err := s.brief(dir, false)
		if err != nil {
			return nil, err
		}
		s.fill(dir, before, &p.Process)
		after, err := s.stat(dir)
		if err != nil {
			return nil, err
		}
		if p.Exe == nil && p.State != "Z" && after.Gone() {
			p.State = "X" // it hides nothing, it is ending: as in brief
		}
		if before.Same(after) && sameText(p.Exe, s.exe(dir)) {
			return p, nil
		}
	}
	s.o.Log.Debug("process changes while it is read", "pid", pid)
	return s.brief(dir, false)
}

// fill adds the facts that only a full reading has.
func (s *scan) fill(dir int, st proc.Stat, p *snapshot.Process) {
	p.Brief = false
	p.Exe = s.exe(dir)
	p.ArgvDigest = s.digest(dir)
	p.Inode = s.inode(p.PID)
	p.Written = s.written(dir)
	if text, err := proc.Readlink(dir, "ns/pid", s.link); err == nil {
		p.PIDNamespace = proc.Namespace(string(text))
	}
	if p.Listening == nil || p.UnixSockets == nil {
		s.listening(dir, st).fill(p)
	}
}

// written is wchar of io (proc_pid_io(5)): all that was passed to write(2), reaped children's included, whether it went to a file, a
// pipe or a terminal. The same file's write_bytes leave out what a page took that was written to before, such as a log's next line.
func (s *scan) written(dir int) *int64 {
	text, err := proc.ReadOnce(dir, "io", s.text)
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("wchar: ")); ok {
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err == nil && n >= 0 {
				return &n
			}
		}
	}
	return nil
}

// exe is the text of the link, " (deleted)" included.
func (s *scan) exe(dir int) *string {
	text, err := proc.Readlink(dir, "exe", s.link)
	if err != nil {
		return nil
	}
	return new(string(text))
}

func sameText(a, b *string) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// digest is that of the command line, see proc.Digest; "" where it could not be read.
func (s *scan) digest(dir int) string {
	text, err := proc.Read(dir, "cmdline", s.environ, environLimit)
	if err != nil {
		return ""
	}
	return proc.Digest(s.salt, text)
}

// inode is the pidfs inode. It is the pinned process's own because the process is shown to be alive afterwards, so no other
// process has its number. nil on kernels without pidfs.
func (s *scan) inode(pid int) *uint64 {
	if !s.root.own {
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
