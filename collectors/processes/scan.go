package processes

import (
	"context"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"winnow/engine/snapshot"
	"winnow/internal/proc"
)

// maxTicks is more than any machine stays up, and small enough that a start can be given as a time.
const maxTicks = 1 << 38

// scan is one reading of a root, with the buffers that it reuses.
type scan struct {
	root *root
	o    Options
	// uid is whose processes are this user's own.
	uid  int
	boot *time.Time
	// salt is the boot id, empty where it could not be read.
	salt  string
	found []*record
	// unreadable counts this user's own processes that refused something.
	unreadable int
	failed     []failure
	// doubts are those of which it is not known yet whether they are ending.
	doubts []doubt
	// listeners are asked for once, when they are first wanted.
	listeners func() listeners
	names     proc.Names
	// text, link and environ are buffers: for stat, for a link, and for what may be long or has many entries.
	text, link, environ []byte
}

type failure struct {
	pid int
	err error
}

// record is a process with what it points to, so that one allocation holds both.
type record struct {
	snapshot.Process
	facts
}

// depth is how much is read of a process.
type depth uint8

const (
	brief depth = iota
	// served adds where it listens.
	served
	full
)

type facts struct {
	// inode is that of the process's folder, 0 where it says nothing.
	inode uint64
	depth depth

	started                                       time.Time
	ppid, pgid, session, foreground, threads, uid int
	tty, cwd                                      string
	deleted, kernel                               bool
	cpu                                           float64
	rss                                           int64
}

func newScan(r *root, o Options) *scan {
	s := (&scan{root: r, o: o, uid: os.Geteuid()}).fork()
	if at, ok := bootTime(r); ok {
		s.boot = &at
	}
	s.salt, _ = proc.BootID(r.path)
	s.listeners = sync.OnceValue(func() listeners { return listen(r, o.Log) })
	return s
}

// fork is a scan of the same root with buffers and results of its own.
func (s *scan) fork() *scan {
	f := *s
	f.found, f.failed, f.unreadable, f.doubts, f.names = nil, nil, 0, nil, proc.Names{}
	f.text, f.link, f.environ = make([]byte, 8<<10), make([]byte, unix.PathMax+1), make([]byte, 32<<10)
	return &f
}

// all reads every process, each as deep as it is read for its own sake.
func (s *scan) all(ctx context.Context) error {
	pids, err := s.root.pids()
	if err != nil {
		return err
	}
	return s.each(ctx, pids, (*scan).one)
}

// each has forks of the scan read processes, and takes over what they found.
func (s *scan) each(ctx context.Context, pids []int, do func(by *scan, pid, dir int)) error {
	forks, err := each(ctx, s.root, pids, s.fork, do)
	for _, f := range forks {
		s.found = append(s.found, f.found...)
		s.failed = append(s.failed, f.failed...)
		s.doubts = append(s.doubts, f.doubts...)
		s.unreadable += f.unreadable
	}
	return err
}

func (s *scan) one(pid, dir int) {
	r, st, err := s.brief(dir, true)
	if err == nil {
		r, err = s.deepen(dir, r, st, s.chosen(r))
	}
	s.keep(pid, r, err)
}

// keep takes a record, or the reason why there is none. A process that has ended has no place.
func (s *scan) keep(pid int, r *record, err error) {
	switch {
	case err == nil:
		s.found = append(s.found, r)
	case !proc.Ended(err):
		s.failed = append(s.failed, failure{pid, err})
	}
}

func (s *scan) stat(dir int) (proc.Stat, error) {
	text, err := proc.ReadOnce(dir, "stat", s.text)
	if err != nil {
		return proc.Stat{}, err
	}
	return s.names.ParseStat(text)
}

// brief reads one pinned process. The owner is asked before stat: of a process that has ended the kernel says that root owns
// it, and reading stat after it shows that it had not. Counted says whether what it refuses is counted.
func (s *scan) brief(dir int, counted bool) (*record, proc.Stat, error) {
	var owner unix.Stat_t
	if err := unix.Fstat(dir, &owner); err != nil {
		return nil, proc.Stat{}, err
	}
	st, err := s.stat(dir)
	if err != nil {
		return nil, st, err
	}
	r := new(record)
	f, p := &r.facts, &r.Process
	*f = facts{
		ppid: st.Parent, pgid: st.Group, session: st.Session, foreground: st.Foreground, threads: st.Threads,
		uid: int(owner.Uid), kernel: st.Kernel, tty: proc.Terminal(st.TTY), cpu: float64(st.CPU) / proc.UserHZ, rss: st.RSS,
	}
	*p = snapshot.Process{
		PID: st.PID, StartTicks: st.Start, PPID: &f.ppid, PGID: &f.pgid, Session: &f.session, ForegroundPGID: &f.foreground,
		TTY: &f.tty, State: string([]byte{st.State}), Threads: &f.threads, Kernel: &f.kernel, Name: st.Comm,
		UID: &f.uid, CPU: &f.cpu, RSS: &f.rss, Brief: true,
	}
	if s.root.procfs {
		f.inode = owner.Ino
	}
	if s.boot != nil && st.Start < maxTicks {
		f.started = s.boot.Add(time.Duration(st.Start) * (time.Second / proc.UserHZ))
		p.StartedAt = &f.started
	}
	refused, err := s.cwd(dir, st, f, p)
	if err != nil {
		return nil, st, err
	}
	asked := len(s.o.Markers) > 0 && f.uid == s.uid && !st.Kernel && !st.Gone()
	if asked {
		refused = s.environment(dir, st, p) || refused
	}
	if f.uid == s.uid && !f.kernel {
		s.ending(dir, st, r, asked && p.Exe == nil, refused && counted)
	}
	p.Interactive = s.interactive(dir, st, p)
	if s.o.WithArgv {
		if text, err := proc.Read(dir, "cmdline", s.environ, environLimit); err == nil {
			p.Argv = arguments(text)
		}
	}
	return r, st, nil
}

// environment keeps the markers of one of this user's own processes, and what it was started from, and reports
// whether it refused the markers. A program may give itself another name, so an agent is known by its file too. The text of a long
// environment stays in the buffer for the next one to write over, and nowhere else.
func (s *scan) environment(dir int, st proc.Stat, p *snapshot.Process) (refused bool) {
	p.Exe = s.exe(dir)
	s.program(dir, p)
	if p.Script != nil && s.takesIn(*p.PPID) {
		p.InputEnded = s.inputEnded(dir)
	}
	p.Daemon = s.daemon(dir, st.Comm, p.Exe)
	text, err := proc.Read(dir, "environ", s.environ, environLimit)
	if err != nil {
		return true
	}
	if kept, ok := keepMarkers(text, s.o.Markers); ok {
		p.Markers = &kept
	}
	return false
}
