package processes_test

import (
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/test/kit/fakeproc"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

var shells = []string{"bash", "dash", "fish", "ksh", "sh", "tcsh", "zsh"}

// pty is a shell on a terminal of its own, of which this is the other side.
type pty struct {
	t      *testing.T
	master *os.File
	pid    int
}

// onTerminal starts a program in front of a terminal of its own; in, where it is not nil, is its input instead.
func onTerminal(t *testing.T, in *os.File, argv ...string) pty {
	t.Helper()
	fd := must.Get(unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0))(t)
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	master := os.NewFile(uintptr(fd), "/dev/ptmx")
	slave := must.Get(os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	defer slave.Close()
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir, c.Env = t.TempDir(), []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TERM=vt100"}
	c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
	if in != nil {
		c.Stdin = in
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	must.Do(t, c.Start())
	go func() { _, _ = io.Copy(io.Discard, master) }() // what it prints must not fill the terminal
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = master.Close() // hangs up all that it started
		_ = c.Wait()
	})
	return pty{t, master, c.Process.Pid}
}

func (p pty) write(text string) {
	p.t.Helper()
	if _, err := p.master.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

func interactive(t *testing.T, pid int) *bool {
	t.Helper()
	return look(t, processes.Options{Markers: []string{"SOME_MARKER"}, Shells: shells, Only: []int{os.Getpid()}}, pid).Interactive
}

// becomes waits until the process is reported as interactive, as not interactive, or as unknown.
func becomes(t *testing.T, pid int, want bool) {
	t.Helper()
	if !wait.Until(wait.Patience, func() bool { got := interactive(t, pid); return (got != nil && *got) == want }) {
		where, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/wchan")
		t.Fatalf("interactive is not %v after %s; it sleeps in %s", want, wait.Patience, where)
	}
}

// waiter is a script that waits on a FIFO without a writer, another that does so by a descriptor of its own, one that works without
// an end, and one that asks the person at the terminal.
func waiter(t *testing.T) (scripts [4]string) {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		files.Write(t, path, text)
		return path
	}
	return [4]string{write("worker.sh", "read x < "+dir+"/fifo\n:\n"), write("own.sh", "exec 3<> "+dir+"/fifo\nread x <&3\n"),
		write("loop.sh", "while :; do :; done\n"), write("question.sh", "read x\n")}
}

// installed are those of names that this machine has.
func installed(names ...string) map[string]string {
	out := map[string]string{}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			out[name] = path
		}
	}
	return out
}

// TestShellsAtTheirPrompt starts every shell that is installed as a terminal does, and leaves it alone.
func TestShellsAtTheirPrompt(t *testing.T) {
	t.Parallel()
	for name, path := range installed(shells...) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			becomes(t, onTerminal(t, nil, path).pid, true)
			becomes(t, onTerminal(t, nil, path, "-i").pid, true)
		})
	}
}

// TestShellsThatRunScripts waits on a FIFO in every way that a script can be run, each of which is a shell alone in front of its terminal.
func TestShellsThatRunScripts(t *testing.T) {
	t.Parallel()
	for name, path := range installed("bash", "dash", "ksh", "sh", "zsh") {
		script := waiter(t)[0]
		for how, args := range map[string][]string{
			"a script": {script}, "a script with flags": {"-ex", script}, "a command": {"-c", ". " + script + "; :"},
			"a command of an interactive one": {"-i", "-c", ". " + script + "; :"},
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				p := onTerminal(t, nil, append([]string{path}, args...)...)
				if got := interactive(t, p.pid); got == nil || *got {
					t.Errorf("interactive: %v, want it known and false", got)
				}
			})
		}
		t.Run(name+" a script as its input", func(t *testing.T) {
			t.Parallel()
			in := must.Get(os.Open(script))(t)
			defer in.Close()
			p := onTerminal(t, in, path)
			if got := interactive(t, p.pid); got == nil || *got {
				t.Errorf("interactive: %v, want it known and false", got)
			}
		})
	}
}

// TestShellsInTheMiddleOfAScript has a shell at its prompt source a script, which its command line says nothing of.
func TestShellsInTheMiddleOfAScript(t *testing.T) {
	t.Parallel()
	for name, path := range installed("bash", "dash", "ksh", "sh", "zsh") {
		for which, what := range []string{"a FIFO", "a descriptor of its own", "the end of a loop", "an answer"} {
			if what == "the end of a loop" && name != "sh" {
				continue // it keeps a processor busy
			}
			if what == "an answer" && name != "bash" && name != "zsh" {
				continue // without a line editor of its own that is known, it reads an answer as it reads a command
			}
			t.Run(name+" waits for "+what, func(t *testing.T) {
				t.Parallel()
				p, scripts := onTerminal(t, nil, path), waiter(t)
				becomes(t, p.pid, true)
				p.write(". " + scripts[which] + "\r")
				becomes(t, p.pid, false)
				for range 5 { // it stays so
					time.Sleep(10 * time.Millisecond)
					becomes(t, p.pid, false)
				}
			})
		}
	}
}

// TestShellsThatWaitForMore has a shell at its prompt, or one that asks as a prompt does, wait for something else than a command. It stands at its
// prompt again when that is over.
func TestShellsThatWaitForMore(t *testing.T) {
	t.Parallel()
	peer := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = peer.Close() })
	_, port, _ := net.SplitHostPort(peer.Addr().String())
	found := installed("bash", "zsh")
	for name, lines := range map[string]map[string]string{
		"bash": {
			"read -n1": "q", "read -sn1": "q", "read -N1": "q", "read -n1 -t 3600": "q", "read -e -t 3600": "\r", "while read -e -t 3600 x && [ -z $x ]; do :; done": "q\r",
			"exec 5<>/dev/tcp/127.0.0.1/" + port: "exec 5>&-\r",
		},
		"zsh": {
			"read -k1": "q", "read -sk1": "q", "x=1; vared x": "\r", "sched +1:00 true": "sched -1\r",
			"exec 9<>fifo; zle -F 9 answer":                                       "zle -F 9\r",
			"zmodload zsh/net/tcp; until ztcp -l $((20000 + RANDOM)); do :; done": "ztcp -c $REPLY\r",
			"zmodload zsh/net/socket; zsocket -l -d 8 door":                       "exec 8>&-\r",
		},
	} {
		path, ok := found[name]
		for line, over := range lines {
			t.Run(name+" "+line, func(t *testing.T) {
				t.Parallel()
				if !ok {
					t.Skip("needs " + name)
				}
				if strings.Contains(line, "-e -t") && !newer(t, path) {
					t.Skip("a bash before 5.2 shows nothing of it")
				}
				p := onTerminal(t, nil, path, map[string]string{"bash": "--norc", "zsh": "-f"}[name])
				becomes(t, p.pid, true)
				must.Do(t, unix.Mkfifo("/proc/"+strconv.Itoa(p.pid)+"/cwd/fifo", 0o600))
				p.write(line + "\r")
				becomes(t, p.pid, false)
				for range 5 { // it stays so
					time.Sleep(10 * time.Millisecond)
					becomes(t, p.pid, false)
				}
				p.write(over)
				becomes(t, p.pid, true)
			})
		}
	}
}

// TestShellsThatWakeByThemselves has a zsh wait for a time while it stands at its prompt, which nothing shows but that it runs, and other shells beside it
// that do not. One that wakes once by itself, as fish does, rests again after a while.
func TestShellsThatWakeByThemselves(t *testing.T) {
	stage.NeedSecond(t, "the kernel's times of a terminal are exact to eight seconds, which it waits for")
	t.Parallel()
	if _, err := os.Stat("/proc/self/sched"); err != nil {
		t.Skipf("the kernel does not say when a process last ran: %v", err)
	}
	becomes := func(t *testing.T, pid int, what string, so func(seconds float64, woke bool) bool) {
		t.Helper()
		wait.Eventually(t, what, func() bool {
			r := look(t, processes.Options{Markers: []string{"SOME_MARKER"}, Shells: shells, Only: []int{os.Getpid()}}, pid).Rest
			return r != nil && r.Woke != nil && so(r.Seconds, *r.Woke)
		})
	}
	rests := func(seconds float64, woke bool) bool { return seconds > 12 && !woke }
	for name, path := range installed(shells...) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := onTerminal(t, nil, path)
			becomes(t, p.pid, "at rest", rests)
			p.write("\r")
			becomes(t, p.pid, "awake", func(seconds float64, _ bool) bool { return seconds < 12 })
		})
	}
	t.Run("TRAPALRM", func(t *testing.T) {
		t.Parallel()
		path, ok := installed("zsh")["zsh"]
		if !ok {
			t.Skip("needs zsh")
		}
		p := onTerminal(t, nil, path, "-f")
		becomes(t, p.pid, "at rest", rests)
		p.write("TMOUT=1; TRAPALRM() { : $((n++)) }\r")
		becomes(t, p.pid, "awake by itself", func(_ float64, woke bool) bool { return woke })
		if got := interactive(t, p.pid); got == nil || !*got {
			t.Errorf("interactive: %v; what the test is about shows by nothing else", got)
		}
	})
}

// newer reports whether bash is 5.2 or newer.
func newer(t *testing.T, bash string) bool {
	t.Helper()
	out := must.Get(exec.Command(bash, "-c", "((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 502)); echo $?").Output())(t)
	return string(out) == "0\n"
}

// TestAShellThatBecameAScript runs a script in a shell's own place: the same process, by the same name.
func TestAShellThatBecameAScript(t *testing.T) {
	t.Parallel()
	script := waiter(t)[0]
	p := onTerminal(t, nil, "bash", "--norc")
	becomes(t, p.pid, true)
	p.write("exec bash " + script + "\r")
	becomes(t, p.pid, false)
}

// TestAShellBehindAnother is not in front of its terminal, which is no sign of work.
func TestAShellBehindAnother(t *testing.T) {
	t.Parallel()
	p := onTerminal(t, nil, "bash", "--norc")
	becomes(t, p.pid, true)
	p.write("bash --norc; true\r")
	front := func() (n int) {
		raw, err := p.master.SyscallConn()
		if err == nil {
			err = raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP) })
		}
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	wait.Eventually(t, "a shell in the shell", func() bool { return front() != p.pid })
	becomes(t, front(), true)
	becomes(t, p.pid, true)
}

// TestWhereAShellSleeps has what the kernel says of a shell at its prompt, which nothing but a real terminal shows whole: the fixture's is not one, so that a shell
// which edits lines is unknown at best.
func TestWhereAShellSleeps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shell, wchan, call string
		fds                map[int]string
		want               *bool
	}{
		"zsh polls":                          {"zsh", "poll_schedule_timeout.constprop.0", "", nil, new(false)},
		"zsh reads":                          {"zsh", "wait_woken", "", nil, nil},
		"zsh polls, of an older kernel":      {"zsh", "do_sys_poll", "", nil, new(false)},
		"the kernel has no name":             {"zsh", "0", "7 0x56069c7cf0c0 0x1 0x36ee80 0x8 0x7 0x0 0x0 0x0", nil, nil},
		"dash reads":                         {"dash", "wait_woken", "", nil, new(true)},
		"dash, where the kernel has no name": {"dash", "0", "0 0xb 0x7ffe 0x1 0x8 0x7 0x0 0x0 0x0", nil, new(true)},
		"dash reads a pipe":                  {"dash", "anon_pipe_read", "", nil, new(false)},
		"dash is connected":                  {"dash", "wait_woken", "", map[int]string{3: "socket:[812]"}, new(false)},
		"dash has a timer":                   {"dash", "wait_woken", "", map[int]string{3: "anon_inode:[timerfd]"}, new(false)},
		"dash has a terminal of its own":     {"dash", "wait_woken", "", map[int]string{3: "/dev/ptmx"}, new(false)},
		"dash has a file and a pipe":         {"dash", "wait_woken", "", map[int]string{3: "/tmp/lock", 4: "pipe:[812]"}, new(true)},
		"nu has sockets of its own":          {"nu", "ep_poll", "", map[int]string{3: "socket:[812]"}, new(true)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, fds := fakeproc.New(t), map[int]string{0: "/dev/pts/4"}
			maps.Copy(fds, c.fds)
			f.Process(fakeproc.Entry{PID: 10, Comm: c.shell, TTY: 136<<8 | 4, Cmdline: c.shell + "\x00", Wchan: c.wchan, Call: c.call, FDs: fds, Front: true})
			for _, p := range all(t, f, processes.Options{Markers: []string{"M"}, Shells: []string{"dash", "nu", "zsh"}}) {
				if d := cmp.Diff(c.want, p.Interactive); d != "" {
					t.Errorf("interactive (-want +got):\n%s", d)
				}
			}
		})
	}
}

// TestShellsThatDoNotShow has fixtures in which something could not be read, or was not asked for.
func TestShellsThatDoNotShow(t *testing.T) {
	t.Parallel()
	idle := fakeproc.Entry{PID: 10, Comm: "dash", TTY: 136<<8 | 4, Cmdline: "dash\x00", FDs: map[int]string{0: "/dev/pts/4"}}
	for name, c := range map[string]struct {
		change func(*fakeproc.Entry)
		shells []string
		want   *bool
	}{
		"idle":                   {func(*fakeproc.Entry) {}, shells, new(true)},
		"a login":                {func(e *fakeproc.Entry) { e.Cmdline = "-dash\x00" }, shells, new(true)},
		"not asked for":          {func(*fakeproc.Entry) {}, nil, nil},
		"no shell":               {func(e *fakeproc.Entry) { e.Comm = "vim" }, shells, nil},
		"no command line":        {func(e *fakeproc.Entry) { e.Cmdline = "" }, shells, nil},
		"an unknown flag":        {func(e *fakeproc.Entry) { e.Cmdline = "dash\x00-Z\x00" }, shells, nil},
		"its input is not known": {func(e *fakeproc.Entry) { e.FDs = nil }, shells, nil},
		"its input is a pipe":    {func(e *fakeproc.Entry) { e.FDs[0] = "pipe:[812]" }, shells, new(false)},
		"another terminal":       {func(e *fakeproc.Entry) { e.FDs[0] = "/dev/pts/5" }, shells, new(false)},
		"no terminal":            {func(e *fakeproc.Entry) { e.TTY = 0 }, shells, new(false)},
		"a script under its own name": {func(e *fakeproc.Entry) {
			e.Comm, e.Exe, e.Cmdline = "worker.sh", "/bin/dash", "/bin/sh\x00./worker.sh\x00"
		}, shells, new(false)},
		"it ended": {func(e *fakeproc.Entry) { e.State = "Z" }, shells, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, e := fakeproc.New(t), idle
			e.FDs = map[int]string{0: idle.FDs[0]}
			c.change(&e)
			f.Process(e)
			for _, p := range all(t, f, processes.Options{Markers: []string{"M"}, Shells: c.shells}) {
				if d := cmp.Diff(c.want, p.Interactive); d != "" {
					t.Errorf("interactive (-want +got):\n%s", d)
				}
			}
		})
	}
}
