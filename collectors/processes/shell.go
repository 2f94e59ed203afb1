package processes

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes/commandline"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// interactive says whether a shell takes commands from the person at its terminal, see snapshot.Process. Nil is not
// known. Its command line is read into a buffer, and nothing else of it is kept.
func (s *scan) interactive(dir int, kind string, st proc.Stat, p *snapshot.Process) *bool {
	text, err := proc.ReadSome(dir, "cmdline", s.Text)
	if err != nil {
		return nil
	}
	how := commandline.Shell(kind, proc.Arguments(text))
	switch {
	case how == commandline.Script:
		return new(false)
	case how == commandline.Unclear || len(text) == len(s.Text): // what follows was not read
		return nil
	}
	return s.listens(dir, kind, st, p)
}

// shell is the name of the shell that a process of this user's is, "" for another one: by the file that it was started from, for it may go by the name
// of a script, and by its own name.
func (s *scan) shell(st proc.Stat, p *snapshot.Process) string {
	if len(s.o.Shells) == 0 || *p.UID != s.uid || st.Kernel || st.Gone() {
		return ""
	}
	if p.Exe != nil {
		if file := path.Base(strings.TrimSuffix(*p.Exe, proc.Deleted)); slices.Contains(s.o.Shells, file) {
			return file
		}
	}
	if slices.Contains(s.o.Shells, p.Name) {
		return p.Name
	}
	return ""
}

// listens says whether what the shell reads commands from is its terminal, and nothing shows that it does something else just now. One
// that is not in front of its terminal waits for the process that is, which shows nothing.
func (s *scan) listens(dir int, kind string, st proc.Stat, p *snapshot.Process) *bool {
	if *p.TTY == "" {
		return new(false)
	}
	link, err := proc.Readlink(dir, input(kind), s.Link)
	switch {
	case err != nil:
		return nil
	case string(link) != "/dev/tty" && string(link) != "/dev/"+*p.TTY:
		return new(false)
	case st.Foreground != st.Group:
		return new(true)
	case st.State != 'S': // it works, or is stopped
		return nil
	}
	return s.prompts(dir, kind, st)
}

// input is the descriptor that a shell reads commands from. Those of csh's family move it away from 0 (FSHIN in their sh.h).
func input(kind string) string {
	if kind == "csh" || kind == "tcsh" {
		return "fd/16"
	}
	return "fd/0"
}

// prompts says whether a shell in front of its terminal stands at its prompt and waits for nothing but a person.
func (s *scan) prompts(dir int, kind string, st proc.Stat) *bool {
	e, edits := editors[kind]
	place := s.sleeps(dir)
	switch {
	case slices.ContainsFunc(elsewhere, place.begins), e.reads && slices.ContainsFunc(polls, place.begins):
		return new(false)
	case e.reads && !slices.ContainsFunc(reads, place.begins), edits && !s.edits(dir, kind, st, e):
		return nil
	}
	for _, waits := range []*bool{s.blocks(dir, e), s.converses(dir, kind)} {
		switch {
		case waits == nil:
			return nil
		case *waits:
			return new(false)
		}
	}
	return new(true)
}

// place is the kernel's name for where a process sleeps, "" where the kernel does not say.
type place string

func (p place) begins(name string) bool { return strings.HasPrefix(string(p), name) }

// The beginnings of the kernel's names for where a process sleeps. Elsewhere are those that are never those of a shell at its prompt: in a pipe
// or FIFO, or when one is opened (fs/pipe.c), in a socket, in a sleep. So a script that was sourced shows itself. Polls are those of a process that
// waits for several things, or for a time (fs/select.c), and reads those of one that reads a terminal (drivers/tty/n_tty.c).
var (
	elsewhere = []string{"pipe_", "anon_pipe_", "fifo_", "wait_for_partner", "unix_stream_", "unix_accept", "sk_wait_", "inet_", "hrtimer_nanosleep", "do_nanosleep"}
	polls     = []string{"poll_", "do_poll", "do_sys_poll", "do_select", "core_sys_select", "do_pselect"}
	reads     = []string{"wait_woken", "n_tty_read", "tty_read", "iterate_tty_read"}
)

// sleeps is where a process sleeps. A kernel that has no name for it (x86 before 5.16) may show the call that the process is in.
func (s *scan) sleeps(dir int) place {
	where, err := proc.ReadOnce(dir, "wchan", s.Link)
	if err == nil && len(where) > 0 && string(where) != "0" {
		return place(where)
	}
	call, err := proc.ReadOnce(dir, "syscall", s.Link)
	if number, _, ok := strings.Cut(string(call), " "); err == nil && ok && number == strconv.Itoa(unix.SYS_READ) {
		return "tty_read" // its input is its terminal
	}
	return ""
}

// editor is how a shell that edits lines waits for a command. A person may have turned its editor off: then that is not known.
type editor struct {
	// carriage are the input flags (ICRNL, INLCR; termios(3)) that its terminal has then.
	carriage uint32
	// reads is true of a shell that reads its terminal then. It polls when it waits for anything else too.
	reads bool
	// clear is true of a shell that blocks no signal then, and does so while a command of its own waits.
	clear bool
}

// editors are what bash 5.1 to 5.3 (readline), zsh 5.8 to 5.9.2 and fish 3.1 were seen to do. Bash's read -n1 leaves ICRNL, its read -t blocks SIGCHLD
// (from 5.2 on). Zsh polls for sched and zle -F, and blocks SIGCHLD while vared or select asks.
var editors = map[string]editor{
	"bash": {clear: true},
	"fish": {},
	"zsh":  {carriage: unix.ICRNL | unix.INLCR, reads: true, clear: true},
}

// edits reports whether the shell's terminal is as its editor has it while it waits for a command, and only then: it does not hand over whole
// lines (ICANON, see termios(3)) nor show what is typed. Asking changes nothing, and does not make it the controlling terminal of this process.
func (s *scan) edits(dir int, kind string, st proc.Stat, e editor) bool {
	// It is only opened once it is held and positively that terminal: opening a FIFO wakes the process that waits at its other end.
	held, err := unix.Openat(dir, input(kind), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(held) }()
	var device unix.Stat_t
	if unix.Fstat(held, &device) != nil || !terminal(&device, st) {
		return false
	}
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(held), unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	mode, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil && mode.Lflag&(unix.ICANON|unix.ECHO) == 0 && mode.Iflag&(unix.ICRNL|unix.INLCR) == e.carriage
}

// blocks says whether a shell blocks a signal (SigBlk, proc_pid_status(5)) which it does not block at its prompt.
func (s *scan) blocks(dir int, e editor) *bool {
	if !e.clear {
		return new(false)
	}
	text, err := proc.ReadOnce(dir, "status", s.Text)
	if err != nil {
		return nil
	}
	mask := proc.Word(text, "SigBlk")
	if mask == "" {
		return nil
	}
	return new(strings.Trim(mask, "0") != "")
}

// runtimes are the shells whose runtime has sockets of its own.
var runtimes = []string{"elvish", "nu", "pwsh", "xonsh"}

// converses says whether a shell has a socket, a timer or the other side of a terminal open: it listens, is connected, waits for a time or speaks with
// what it started on a terminal of its own (zpty).
func (s *scan) converses(dir int, kind string) *bool {
	if slices.Contains(runtimes, kind) {
		return new(false)
	}
	fds, numbers, err := proc.OpenList(dir, "fd", s.Environ)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(fds) }()
	for _, fd := range numbers {
		text, err := proc.Readlink(fds, strconv.Itoa(fd), s.Link)
		switch {
		case proc.Ended(err): // closed by now
		case err != nil:
			return nil
		case bytes.HasPrefix(text, []byte("socket:[")), string(text) == "anon_inode:[timerfd]", bytes.HasSuffix(text, []byte("/ptmx")):
			return new(true)
		}
	}
	return new(false)
}

// terminal reports whether a file is the terminal of the process.
func terminal(file *unix.Stat_t, st proc.Stat) bool {
	return file.Mode&unix.S_IFMT == unix.S_IFCHR && st.TTY != 0 && file.Rdev == proc.Device(st.TTY)
}

// readRest is for how long a shell with a terminal has done nothing, see snapshot.Rest. Zsh with TMOUT and TRAPALRM, and bash before 5.2 in read -e -t, show
// by nothing else that they wait for a time.
func (s *scan) readRest(dir int, kind string, st proc.Stat) *snapshot.Rest {
	if st.TTY == 0 {
		return nil
	}
	ran, err := proc.ReadRan(dir, s.Text)
	if err != nil {
		return nil
	}
	since, err := s.clocks.Since(ran)
	if err != nil {
		return nil
	}
	r := &snapshot.Rest{Seconds: since.Seconds()}
	if quiet, ok := s.unchanged(dir, kind, st); ok {
		r.Woke = new(2*r.Seconds < (quiet - stampStep).Seconds())
	}
	return r
}

// stampStep is how exact the times of a terminal are: one is set where the event lies in another eight seconds than the last one
// (tty_update_time in drivers/tty/tty_io.c).
const stampStep = 8 * time.Second

// unchanged is for how long nothing was typed or printed in the terminal of a process. A clock that was set back gives no answer.
func (s *scan) unchanged(dir int, kind string, st proc.Stat) (time.Duration, bool) {
	for _, name := range []string{input(kind), "fd/1", "fd/2"} {
		link, err := proc.Readlink(dir, name, s.Link)
		if err != nil || !bytes.HasPrefix(link, []byte("/dev/")) { // what lies on a disk that does not answer would not be looked at in time
			continue
		}
		var file unix.Stat_t
		if unix.Fstatat(dir, name, &file, 0) != nil || !terminal(&file, st) {
			continue
		}
		quiet := min(time.Since(time.Unix(file.Atim.Unix())), time.Since(time.Unix(file.Mtim.Unix())))
		return quiet, quiet >= 0
	}
	return 0, false
}

// The bits of signals in the masks of proc_pid_status(5).
const (
	hangup = 1 << (int(unix.SIGHUP) - 1)
	alarm  = 1 << (int(unix.SIGALRM) - 1)
)

// signals is a mask of signals in the status of a pinned process.
func (s *scan) signals(dir int, mask string) (uint64, error) {
	text, err := proc.Read(dir, "status", s.Environ, proc.MaxEnviron)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(proc.Word(text, mask), 16, 64)
}

// waits is whether a pinned process does nothing before something comes from outside, see snapshot.Process. What it has open was read.
func (s *scan) waits(dir int, st proc.Stat, p *speaker) *bool {
	timers, err := proc.ReadOnce(dir, "timers", s.Text)
	timed := len(timers) > 0
	caught, unread := s.signals(dir, "SigCgt")
	tasks, unlisted := proc.List(dir, "task", s.Environ)
	switch {
	case p.woken, timed, caught&alarm != 0, st.State != 'S', p.nohup, s.shell(st, &p.Process) != "":
		return new(false)
	case errors.Join(err, unread, unlisted) != nil, !p.known, !p.nohupKnown:
		return nil
	}
	for _, task := range tasks {
		call, err := proc.ReadOnce(dir, "task/"+strconv.Itoa(task)+"/syscall", s.Text)
		if err != nil {
			return nil
		}
		if !endless(strings.Fields(string(call))) {
			return new(false)
		}
	}
	return new(len(tasks) > 0)
}

// timeouts have, of each call in which a thread waits for what comes at a descriptor, the place of its timeout and the end of one that never comes. Two
// calls have no name on other processors than x86: epoll_wait (232) and poll (7).
var timeouts = map[string]struct {
	at    int
	never string
}{
	"232": {4, "ffffffff"}, "7": {3, "ffffffff"}, strconv.Itoa(unix.SYS_EPOLL_PWAIT): {4, "ffffffff"},
	strconv.Itoa(unix.SYS_EPOLL_PWAIT2): {4, "0x0"}, strconv.Itoa(unix.SYS_PPOLL): {3, "0x0"},
}

// endless reports whether a call, its number with its arguments, returns no sooner than something comes: at a descriptor, or from another thread of the
// same process, since no other one wakes a private futex (futex(2): FUTEX_WAIT and FUTEX_WAIT_BITSET).
func endless(call []string) bool {
	const wait, waitBitset, private, realtime = 0, 9, 128, 256
	if len(call) < 7 { // it runs
		return false
	}
	if timeout, ok := timeouts[call[0]]; ok {
		return strings.HasSuffix(call[timeout.at], timeout.never)
	}
	op, err := strconv.ParseUint(call[2], 0, 64)
	op &^= realtime
	return err == nil && call[0] == strconv.Itoa(unix.SYS_FUTEX) && call[4] == "0x0" && (op == wait|private || op == waitBitset|private)
}
