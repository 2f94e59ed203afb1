package processes_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/fakeproc"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/parts"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// playDial is connected to args[1] of the network args[0]; a third argument says that it is connected to itself there, or sends datagrams.
func playDial(args []string) error {
	if len(args) > 2 && args[2] == "itself" {
		l, err := net.Listen(args[0], args[1])
		if err != nil {
			return err
		}
		args[1] = l.Addr().String()
		go func() { both[1], _ = l.Accept() }()
	}
	c, err := net.Dial(args[0], args[1])
	both[0] = c
	fmt.Println("ready")
	return err
}

var both [2]net.Conn // they stay open

// TestIntent has the real nohup start a program, and the variable that a shell sets.
func TestIntent(t *testing.T) {
	t.Parallel()
	hangs := func(by string) func(*exec.Cmd) {
		return func(c *exec.Cmd) {
			c.Args = []string{"sh", "-c", `trap - HUP; ` + by + ` "$0"`, c.Path}
			c.Path = must.Get(exec.LookPath("sh"))(t)
		}
	}
	for name, c := range map[string]struct {
		change func(*exec.Cmd)
		hangup bool
		by     string
	}{
		"nohup":                           {hangs("exec nohup"), true, ""},
		"ignored by a shell":              {hangs(`trap "" HUP; exec`), true, ""},
		"nohup and setsid":                {hangs("exec nohup setsid"), true, ""},
		"a shell's word, and set back":    {func(c *exec.Cmd) { hangs("exec")(c); c.Env = append(c.Env, "_=/usr/bin/nohup") }, false, "nohup"},
		"a variable whose name ends so":   {func(c *exec.Cmd) { hangs("exec")(c); c.Env = append(c.Env, "X_=/usr/bin/nohup", "_=/bin/env") }, false, ""},
		"as what a tool call leaves is":   {hangs("exec setsid"), false, ""},
		"as what a terminal's shell runs": {hangs("exec"), false, ""},
	} {
		child := parts.Start(t, "idle", c.change)
		p := look(t, processes.Options{Markers: []string{"AGENT_SESSION"}, Only: []int{child.Process.Pid}}, child.Process.Pid)
		if p.IgnoresHangup == nil || *p.IgnoresHangup != c.hangup || p.StartedBy == nil || *p.StartedBy != c.by {
			t.Errorf("%s: ignores SIGHUP %v, started by %v; want %v, %q", name, show(p.IgnoresHangup), show(p.StartedBy), c.hangup, c.by)
		}
	}
}

func show[T any](v *T) any {
	if v == nil {
		return "unknown"
	}
	return *v
}

// TestUnits reads what the service manager made of a process.
func TestUnits(t *testing.T) {
	t.Parallel()
	const status = "Name:\tx\nSigIgn:\t0000000000000006\n"
	for text, want := range map[string]*string{
		"0::/user.slice/user-1000.slice/session-2.scope\n":                                                         new(""),
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-r0b9e5a38.service\n":                       new("systemd-run"),
		"9:name=systemd:/user.slice/user-1000.slice/user@1000.service/run-p12-i7.scope\n8:pids:/x\n0::/\n":         new("systemd-run"),
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-u3.service/inner\n":                        new("systemd-run"),
		"0::/system.slice/atd.service\n":                                                                           new("at"),
		"0::/user.slice/user-1000.slice/user@1000.service/tmux-spawn-0b9e5a38-0000-4000-8000-0b9e5a380000.scope\n": new(""),
		"0::/run-user-1000.mount\n": new(""),
		"":                          new(""),
	} {
		f := fakeproc.New(t)
		f.Process(fakeproc.Entry{PID: 700, PPID: 1, Comm: "make", Start: 5000, Environ: "AGENT=1\x00_=/usr/bin/make\x00"})
		f.Write("700/status", status)
		if text != "" { // a kernel without cgroups
			f.Write("700/cgroup", text)
		}
		o := processes.Options{Root: f.Path, Markers: []string{"AGENT"}, Classes: []string{processes.Marked}}
		p := all(t, f, o)[snapshot.ProcessID(700, 5000)]
		if d := cmp.Diff(want, p.StartedBy); d != "" || p.IgnoresHangup == nil || *p.IgnoresHangup {
			t.Errorf("%q: ignores SIGHUP %v (-want +got):\n%s", text, show(p.IgnoresHangup), d)
		}
		f.Write("700/environ", "cut")
		if p := all(t, f, processes.Options{Root: f.Path, Markers: []string{"AGENT"}, Only: []int{700}})[snapshot.ProcessID(700, 5000)]; *want == "" && p.StartedBy != nil {
			t.Errorf("%q, environment unknown: started by %q, want unknown", text, *p.StartedBy)
		}
	}
}

// TestConnections has real programs be connected to this one, which is not read, to themselves, and to no program.
func TestConnections(t *testing.T) {
	t.Parallel()
	ask := func(c parts.Child) (p snapshot.Process) {
		return look(t, processes.Options{Only: []int{c.Process.Pid}}, c.Process.Pid)
	}
	if p := ask(parts.Start(t, "idle", nil)); p.Connections == nil {
		t.Skip("this machine has no socket diagnosis")
	}
	at := shortDir(t)
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": at + "/s"} {
		l := must.Get(net.Listen(network, address))(t)
		t.Cleanup(func() { _ = l.Close() })
		c := parts.Start(t, "dial", nil, network, l.Addr().String())
		want := func(what string, n int) {
			t.Helper()
			if p := ask(c); p.Connections == nil || *p.Connections != n || p.ConnectedTo == nil || len(*p.ConnectedTo) > 0 {
				t.Errorf("%s, %s: %v connections to %v, want %d to nobody who was read", network, what, show(p.Connections), show(p.ConnectedTo), n)
			}
		}
		want("before it is accepted", 1)
		other := must.Get(l.Accept())(t)
		want("accepted", 1)
		must.Do(t, other.Close())
		wait.Eventually(t, "the other end was closed: "+network, func() bool { p := ask(c); return p.Connections != nil && *p.Connections == 0 })

		address := "127.0.0.1:0"
		if network == "unix" {
			address = at + "/itself"
		}
		c = parts.Start(t, "dial", nil, network, address, "itself")
		wait.Eventually(t, "it is connected to itself: "+network, func() bool {
			p := ask(c)
			return p.Connections != nil && *p.Connections == 2 && cmp.Equal(&[]int{c.Process.Pid, c.Process.Pid}, p.ConnectedTo)
		})
	}
	for name, c := range map[string]parts.Child{
		"a socket that sends datagrams": parts.Start(t, "dial", nil, "udp", "127.0.0.1:9"),
	} {
		if p := ask(c); p.Connections != nil {
			t.Errorf("%s: %d connections, want unknown", name, *p.Connections)
		}
	}
	// A pair without a name is no connection, and neither is a socket that listens.
	if p := ask(parts.Start(t, "unix", nil, at+"/stream", at+"/datagrams")); p.Connections == nil || *p.Connections != 0 {
		t.Errorf("sockets of each sort, and no connection: %v connections, want 0", show(p.Connections))
	}
}

// TestOutputs knows of regular files that are open for writing, and of no other.
func TestOutputs(t *testing.T) {
	t.Parallel()
	dir, then := t.TempDir(), time.Now().Add(-time.Hour).Truncate(time.Second)
	open := func(name string, flags int) *os.File {
		f := must.Get(os.OpenFile(name, flags|os.O_CREATE, 0o600))(t)
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	log, read, removed := open(filepath.Join(dir, "log"), os.O_WRONLY|os.O_APPEND), open(filepath.Join(dir, "read"), os.O_RDONLY), open(filepath.Join(dir, "removed"), os.O_RDWR)
	fifo := filepath.Join(dir, "fifo")
	must.Do(t, errors.Join(unix.Mkfifo(fifo, 0o600), os.Remove(removed.Name()), os.Chtimes(log.Name(), then, then), os.Chtimes("/proc/self/fd/"+fmt.Sprint(removed.Fd()), then, then)))
	files := []*os.File{read, open(fifo, os.O_RDWR), open(os.DevNull, os.O_WRONLY)}
	for name, c := range map[string]struct {
		files []*os.File
		want  int
		at    *time.Time
	}{"none of these": {files, 0, nil}, "a log": {append(files[:3:3], log), 1, &then}, "a log, and a file without a name": {append(files[:3:3], log, removed), 2, &then}} {
		child := parts.Start(t, "idle", func(cmd *exec.Cmd) { cmd.ExtraFiles, cmd.SysProcAttr = c.files, &syscall.SysProcAttr{} })
		p := look(t, processes.Options{Only: []int{child.Process.Pid}}, child.Process.Pid)
		if p.WritesFiles == nil || *p.WritesFiles != c.want || (p.OutputAt == nil) != (c.at == nil) || c.at != nil && !p.OutputAt.Equal(*c.at) {
			t.Errorf("%s: writes %v files, the last time at %v; want %d, %v", name, show(p.WritesFiles), p.OutputAt, c.want, c.at)
		}
	}
	before := time.Now().Add(-time.Second)
	must.Get(log.WriteString("more\n"))(t)
	child := parts.Start(t, "idle", func(cmd *exec.Cmd) { cmd.ExtraFiles = []*os.File{log} })
	if p := look(t, processes.Options{Only: []int{child.Process.Pid}}, child.Process.Pid); p.OutputAt == nil || p.OutputAt.Before(before) {
		t.Errorf("written to just now: the last time at %v", p.OutputAt)
	}
}
