package processes

import (
	"context"
	"math"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// maxTicks is more than any machine stays up, and small enough that a start can be given as a time.
const maxTicks = 1 << 38

// scan is one reading of a root, with the buffers that it reuses.
type scan struct {
	root *host.Root
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
	// doubts are those that may be ending.
	doubts []doubt
	// listeners are asked for once, when they are first wanted.
	listeners func() listeners
	// mounts are those of this process's own namespace, read once when they are first wanted; nil where they could not be read.
	mounts func() []proc.Mount
	// clocks tell for how long shells have not run.
	clocks *proc.Clocks
	shared
	host.Reader
}

type failure struct {
	pid int
	err error
}

// record is a process with what it alone points to, so that one allocation holds both. There is one for each process of the machine: its size is that of the
// allocator's classes (448 bytes).
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
	started time.Time
	cpu     float64
	rss     int64
	// inode is that of the process's folder, which the kernel counts in 32 bits (get_next_ino); 0 where it says nothing.
	inode uint32
	depth depth
	// nohup is whether its environment says that nohup started it, where that is known.
	nohup, nohupKnown bool
	// talk are its connections until it is known who has their other ends; nil is unknown.
	talk *talk
}

func newScan(r *host.Root, o Options) *scan {
	s := (&scan{root: r, o: o, uid: os.Geteuid(), clocks: new(proc.Clocks)}).fork()
	s.boot = r.BootTime()
	s.salt, _ = proc.BootID(r.Path)
	s.listeners = sync.OnceValue(func() listeners { return listen(r, o.Log) })
	s.mounts = sync.OnceValue(func() []proc.Mount {
		all, _ := proc.ReadMounts("/proc/self/mountinfo")
		return all
	})
	return s
}

// fork is a scan of the same root with buffers and results of its own.
func (s *scan) fork() *scan {
	f := *s
	f.found, f.failed, f.unreadable, f.doubts, f.shared = nil, nil, 0, nil, newShared()
	f.Reader = host.NewReader()
	return &f
}

// all reads every process, each as deep as it is read for its own sake.
func (s *scan) all(ctx context.Context) error {
	pids, err := s.root.PIDs()
	if err != nil {
		return err
	}
	return s.readEach(ctx, pids, func(by *scan, pid, dir int) { by.read(pid, dir, true, by.readDepth) })
}

// readEach has forks of the scan read processes, and takes over what they found.
func (s *scan) readEach(ctx context.Context, pids []int, do func(by *scan, pid, dir int)) error {
	forks, err := host.EachPinned(ctx, s.root, pids, s.fork, do)
	for _, f := range forks {
		s.found = append(s.found, f.found...)
		s.failed = append(s.failed, f.failed...)
		s.doubts = append(s.doubts, f.doubts...)
		s.unreadable += f.unreadable
	}
	return err
}

// read takes a process as deep as want says, or the reason why it cannot be read. A process that has ended has no place. Counted says whether
// what it refuses is counted.
func (s *scan) read(pid, dir int, counted bool, want func(*record) depth) {
	r, st, err := s.brief(dir, counted)
	if err == nil {
		r, err = s.deepen(dir, r, st, want(r))
	}
	switch {
	case err == nil:
		s.found = append(s.found, r)
	case !proc.Ended(err):
		s.failed = append(s.failed, failure{pid, err})
	}
}

// brief reads one pinned process. The owner is asked before stat: of a process that has ended the kernel says that root owns
// it, and reading stat after it shows that it had not. Counted says whether what it refuses is counted.
func (s *scan) brief(dir int, counted bool) (*record, proc.Stat, error) {
	var owner unix.Stat_t
	if err := unix.Fstat(dir, &owner); err != nil {
		return nil, proc.Stat{}, err
	}
	st, err := s.Stat(dir)
	if err != nil {
		return nil, st, err
	}
	r := new(record)
	f, p := &r.facts, &r.Process
	*f = facts{cpu: float64(st.CPU) / proc.UserHZ, rss: st.RSS}
	*p = snapshot.Process{
		PID: st.PID, StartTicks: st.Start, PPID: s.number(st.Parent), PGID: &p.PID, Session: &p.PID, ForegroundPGID: s.number(st.Foreground),
		TTY: s.terminal(st.TTY), State: string([]byte{st.State}), Threads: s.number(st.Threads), Kernel: s.flag(st.Kernel), Name: st.Comm,
		UID: s.number(int(owner.Uid)), CPU: &f.cpu, RSS: &f.rss, Partial: true,
	}
	if st.Group != st.PID {
		p.PGID = s.number(st.Group)
	}
	if st.Session != st.PID {
		p.Session = s.number(st.Session)
	}
	if s.root.Procfs && owner.Ino <= math.MaxUint32 {
		f.inode = uint32(owner.Ino)
	}
	if s.boot != nil && st.Start < maxTicks {
		f.started = s.boot.Add(time.Duration(st.Start) * (time.Second / proc.UserHZ))
		p.StartedAt = &f.started
	}
	refused, err := s.cwd(dir, st, p)
	if err != nil {
		return nil, st, err
	}
	mine := int(owner.Uid) == s.uid && !st.Kernel
	asked := len(s.o.Markers) > 0 && mine && !st.Gone()
	if asked {
		refused = s.environment(dir, st, r) || refused
	}
	if mine {
		s.ending(dir, st, r, asked && p.Exe == nil, refused && counted)
	}
	if kind := s.shell(st, p); kind != "" {
		p.Interactive, p.Rest = s.interactive(dir, kind, st, p), s.readRest(dir, kind, st)
	}
	if s.o.WithArgv {
		if text, err := proc.Read(dir, "cmdline", s.Environ, proc.MaxEnviron); err == nil {
			p.Argv = proc.Arguments(text)
		}
	}
	return r, st, nil
}

// environment keeps the markers of one of this user's own processes, and what it was started from, and reports
// whether it refused the markers. A program may give itself another name, so an agent is known by its file too. The text of a long
// environment stays in the buffer for the next one to write over, and nowhere else.
func (s *scan) environment(dir int, st proc.Stat, r *record) (refused bool) {
	p := &r.Process
	p.Exe = s.Exe(dir)
	s.program(dir, p)
	if s.takesIn(*p.PPID) {
		p.InputEnded = s.inputEnded(dir)
	}
	p.Daemon = NameDaemon(&s.Reader, s.o.Daemons, dir, st.Comm, p.Exe)
	text, err := proc.Read(dir, "environ", s.Environ, proc.MaxEnviron)
	if err != nil {
		return true
	}
	kept, ok := proc.Variables(text, s.o.Markers)
	if ok {
		r.nohup, r.nohupKnown = viaNohup(text), true
	}
	switch {
	case ok && len(kept) == 0: // as of most processes
		p.Markers = s.unmarked
	case ok:
		p.Markers = &kept
	}
	return false
}

// How often processes are looked at whose first thread has ended, and how long apart at first; the time between doubles, 315 ms in all. On a busy machine
// the other threads of a program that ends wait for a processor.
const (
	endings  = 7
	endsSoon = 5 * time.Millisecond
)

// doubt is a process whose first thread is ending while others may live on. Refused is whether it refused something, which counts where it lives.
type doubt struct {
	*record
	refused bool
}

// ending notes of a process that has given back its memory, and with it what it was started from, that it is ending: it hides nothing. What it refused
// does not count then. Hides is whether it does not show what it was started from.
func (s *scan) ending(dir int, st proc.Stat, r *record, hides, refused bool) {
	suspect := hides && !st.Ended() || refused
	if suspect && !st.Gone() {
		var err error
		if st, err = s.Stat(dir); err != nil {
			r.ended()
			return
		}
	}
	switch {
	case st.Gone():
		r.ended()
	case st.Exiting && suspect:
		s.doubts = append(s.doubts, doubt{r, refused})
	case refused:
		s.unreadable++
	}
}

// ended says that the process was ending when it was read. A zombie with threads was the first thread of one whose others were still to end.
func (r *record) ended() {
	if r.Exe == nil && (r.State != "Z" || r.Threads != nil && *r.Threads > 1) {
		r.State = "X"
	}
}

// settle finds out which of the processes in doubt are ending. The first thread of a program may have given everything back before the others
// do: these are waited for, all at once. Where they stay, the program lives without its first thread.
func (s *scan) settle(ctx context.Context) {
	for i, rest := 0, endsSoon; ; i, rest = i+1, 2*rest {
		var left []doubt
		for _, d := range s.doubts {
			switch st, _, err := s.StatOf(s.root, d.PID); {
			case err != nil, st.Start != d.StartTicks, st.Gone():
				d.ended()
			case st.Exiting:
				left = append(left, d)
			case d.refused:
				s.unreadable++
			}
		}
		if s.doubts = left; len(left) == 0 {
			return
		}
		if i == endings-1 {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(rest):
		}
	}
	for _, d := range s.doubts {
		if d.refused {
			s.unreadable++
		}
	}
	s.doubts = nil
}
