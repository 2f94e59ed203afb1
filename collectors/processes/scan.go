package processes

import (
	"context"
	"os"
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
	// listeners are asked for once, before the processes are read beside one another.
	listeners listeners
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

type facts struct {
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
	if o.Only > 0 || len(o.Markers) > 0 {
		s.listeners = listen(r, o.Log)
	}
	return s
}

// fork is a scan of the same root with buffers and results of its own.
func (s *scan) fork() *scan {
	f := *s
	f.found, f.failed, f.unreadable, f.names = nil, nil, 0, proc.Names{}
	f.text, f.link, f.environ = make([]byte, 8<<10), make([]byte, unix.PathMax+1), make([]byte, 32<<10)
	return &f
}

// all reads every process in brief.
func (s *scan) all(ctx context.Context) error {
	forks, err := each(ctx, s.root, s.fork, (*scan).one)
	for _, f := range forks {
		s.found = append(s.found, f.found...)
		s.failed = append(s.failed, f.failed...)
		s.unreadable += f.unreadable
	}
	return err
}

func (s *scan) one(pid, dir int) {
	p, err := s.brief(dir, true)
	switch {
	case err == nil:
		s.found = append(s.found, p)
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
func (s *scan) brief(dir int, counted bool) (*record, error) {
	var owner unix.Stat_t
	if err := unix.Fstat(dir, &owner); err != nil {
		return nil, err
	}
	st, err := s.stat(dir)
	if err != nil {
		return nil, err
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
	if s.boot != nil && st.Start < maxTicks {
		f.started = s.boot.Add(time.Duration(st.Start) * (time.Second / proc.UserHZ))
		p.StartedAt = &f.started
	}
	refused, err := s.cwd(dir, st, f, p)
	if err != nil {
		return nil, err
	}
	refused = s.environment(dir, st, p) || refused
	if p.Exe == nil && p.State != "Z" && !f.kernel && f.uid == s.uid && !s.lives(dir) {
		// It has given back its memory, and with it what it was started from: it hides nothing, it is ending.
		p.State = "X"
	}
	if refused && counted && f.uid == s.uid && s.lives(dir) {
		s.unreadable++
	}
	p.Interactive = s.interactive(dir, st, p)
	if s.o.WithArgv {
		if text, err := proc.Read(dir, "cmdline", s.environ, environLimit); err == nil {
			p.Argv = arguments(text)
		}
	}
	return r, nil
}

// environment keeps the markers of one of this user's own processes, what it was started from and where it listens, and reports
// whether it refused the markers. A program may give itself another name, so an agent is known by its file too. The text of a long
// environment stays in the buffer for the next one to write over, and nowhere else.
func (s *scan) environment(dir int, st proc.Stat, p *snapshot.Process) (refused bool) {
	if len(s.o.Markers) == 0 || *p.UID != s.uid || st.Kernel || st.Gone() {
		return false
	}
	p.Exe = s.exe(dir)
	s.listening(dir, st).fill(p)
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

// How often, and how long apart, a process is looked at whose first thread has ended.
const (
	endings  = 10
	endsSoon = 5 * time.Millisecond
)

// lives reports whether the pinned process is there and more than a zombie. One that is ending refuses what it has already
// given back, which is not a refusal. The first thread of a program that is ending may have given everything back before the others did: these
// are waited for. Where they stay, the program lives without its first thread.
func (s *scan) lives(dir int) bool {
	for range endings {
		st, err := s.stat(dir)
		if err != nil || st.Gone() {
			return false
		}
		if !st.Exiting {
			return true
		}
		time.Sleep(endsSoon)
	}
	return true
}
