package processes_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/collectors/processes/holders"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/parts"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func contextOf() context.Context { return context.Background() }

// oracle is what prometheus/procfs says of one process.
func oracle(fs procfs.FS, pid int) (snapshot.Process, bool) {
	p, err := fs.Proc(pid)
	if err != nil {
		return snapshot.Process{}, false
	}
	st, err := p.Stat()
	if err != nil {
		return snapshot.Process{}, false
	}
	status, err := p.NewStatus()
	if err != nil {
		return snapshot.Process{}, false
	}
	uid := int(status.UIDs[1])
	o := snapshot.Process{
		PID: st.PID, StartTicks: st.Starttime, PPID: &st.PPID, PGID: &st.PGRP, Session: &st.Session, ForegroundPGID: &st.TPGID,
		State: st.State, Threads: &st.NumThreads, Name: st.Comm, UID: &uid,
	}
	if st.State == "Z" && st.NumThreads > 1 {
		return snapshot.Process{}, false // its first thread has ended, and procfs asks no other one
	}
	if cwd, err := p.Cwd(); err == nil && cwd != "" {
		at, _ := os.Stat(fmt.Sprintf("/proc/%d/cwd", st.PID))
		if named, err := os.Stat(cwd); err != nil || !os.SameFile(at, named) { // the kernel adds it to the path of what was deleted
			cwd = strings.TrimSuffix(cwd, " (deleted)")
		}
		o.Cwd = &cwd
	}
	return o, true
}

// shared leaves the facts that the oracle has, without those that change by themselves.
func shared(p snapshot.Process) snapshot.Process {
	if p.PPID != nil && *p.PPID == 2 { // a kernel worker is called by what it does at the moment
		p.Name = ""
	}
	return snapshot.Process{
		PID: p.PID, StartTicks: p.StartTicks, PPID: p.PPID, PGID: p.PGID, Session: p.Session, ForegroundPGID: p.ForegroundPGID,
		Name: p.Name, UID: p.UID, Cwd: p.Cwd,
	}
}

// A process of another test may change between two reads, so only what differs in several looks in a row is a difference.
func TestSameAsProcfs(t *testing.T) {
	t.Parallel()
	parts.Start(t, "idle", nil)
	different := differences(t)
	for range 4 {
		if len(different) == 0 {
			return
		}
		again := differences(t)
		maps.DeleteFunc(different, func(p, d string) bool { return again[p] != d })
	}
	for p, d := range different {
		t.Errorf("process %s (-procfs +ours):\n%s", p, d)
	}
}

// differences gives what one look and procfs tell differently, by PID and start.
func differences(t *testing.T) map[string]string {
	t.Helper()
	fs := must.Get(procfs.NewFS("/proc"))(t)
	before := must.Get(fs.AllProcs())(t)
	first := map[int]snapshot.Process{}
	for _, p := range before {
		if o, ok := oracle(fs, p.PID); ok {
			first[p.PID] = shared(o)
		}
	}
	got := must.Get(processes.New(processes.Options{Root: "/proc"}).Read(t.Context()))(t)
	different, found, compared := map[string]string{}, map[int]bool{}, 0
	name := func(p snapshot.Process) string { return fmt.Sprintf("%d of tick %d", p.PID, p.StartTicks) }
	for _, p := range got.Processes {
		found[p.PID] = true
		want, ok := oracle(fs, p.PID)
		if !ok || !cmp.Equal(first[p.PID], shared(want)) {
			continue
		}
		compared++
		if !cmp.Equal(shared(want), shared(*p)) {
			different[name(*p)] = cmp.Diff(shared(want), shared(*p))
		}
	}
	if compared < 2 {
		t.Errorf("compared %d processes, of 2 at least", compared)
	}
	for pid, p := range first {
		if o, ok := oracle(fs, pid); ok && !found[pid] && cmp.Equal(p, shared(o)) {
			different[name(p)] = "it is missing"
		}
	}
	return different
}

func TestMarkers(t *testing.T) {
	t.Parallel()
	markers := []string{"AGENT_SESSION", "TMUX"}
	marked := parts.Start(t, "idle", func(c *exec.Cmd) { c.Env = append(c.Env, "AGENT_SESSION=s-1") }, "an argument")
	plain := parts.Start(t, "idle", nil)
	p := look(t, processes.Options{Markers: markers}, marked.Process.Pid)
	if d := cmp.Diff(&map[string]string{"AGENT_SESSION": "s-1"}, p.Markers); d != "" {
		t.Errorf("markers (-want +got):\n%s", d)
	}
	text := must.Get(json.Marshal(p))(t)
	for _, secret := range []string{"not to be kept", "an argument"} {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("%q is in the document", secret)
		}
	}
	full(t, p)
	p = look(t, processes.Options{Markers: markers}, plain.Process.Pid)
	if d := cmp.Diff(&map[string]string{}, p.Markers); d != "" {
		t.Errorf("markers of a process without any (-want +got):\n%s", d)
	}
	if p.Exe == nil || p.Inode != nil || p.Listening != nil || p.ArgvDigest != "" {
		t.Errorf("a process without markers was read in full: %+v", p)
	}
	if p.Argv != nil {
		t.Errorf("the command line is in the document")
	}
}

// full checks the facts of a process that was read in full.
func full(t *testing.T, p snapshot.Process) {
	t.Helper()
	exe := must.Get(os.Executable())(t)
	if d := cmp.Diff(&exe, p.Exe); d != "" {
		t.Errorf("exe (-want +got):\n%s", d)
	}
	boot := must.Get(os.ReadFile("/proc/sys/kernel/random/boot_id"))(t)
	argv := must.Get(os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/cmdline"))(t)
	sum := sha256.Sum256(append(bytes.TrimSpace(boot), argv...))
	if want := hex.EncodeToString(sum[:]); p.ArgvDigest != want {
		t.Errorf("argv digest %q, want %q", p.ArgvDigest, want)
	}
	if d := cmp.Diff(&[]int{}, p.Listening); d != "" {
		t.Errorf("listening (-want +got):\n%s", d)
	}
}

// TestWritten counts what a process wrote and what a child did that it has waited for, wherever it went.
func TestWritten(t *testing.T) {
	t.Parallel()
	c := exec.Command("sh", "-c", "head -c 5000 /dev/zero >/dev/null; echo ready; read line; echo more; read line")
	in := must.Get(c.StdinPipe())(t)
	out := must.Get(c.StdoutPipe())(t)
	must.Do(t, c.Start())
	t.Cleanup(func() { _ = in.Close(); _ = c.Wait() })
	line := bufio.NewReader(out)
	written := func(want string) int64 {
		t.Helper()
		if said, err := line.ReadString('\n'); err != nil || said != want+"\n" {
			t.Fatalf("said %q: %v", said, err)
		}
		p := look(t, processes.Options{Only: []int{c.Process.Pid}}, c.Process.Pid)
		if p.Written == nil {
			t.Fatal("how much it wrote is not known")
		}
		return *p.Written
	}
	first := written("ready")
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if more := written("more") - first; first < 5006 || more != 5 {
		t.Errorf("wrote %d bytes, then %d more; want 5006 at least, and 5", first, more)
	}
	if p := look(t, processes.Options{}, c.Process.Pid); p.Written != nil {
		t.Error("what a process wrote was read although nothing may be about it")
	}
}

func TestOnly(t *testing.T) {
	t.Parallel()
	one, other := parts.Start(t, "idle", nil), parts.Start(t, "idle", nil)
	p := look(t, processes.Options{Only: []int{one.Process.Pid}, WithArgv: true}, one.Process.Pid)
	full(t, p)
	if len(p.Argv) != 1 || p.Argv[0] != one.Args[0] {
		t.Errorf("argv %q, want %q", p.Argv, one.Args)
	}
	if p := look(t, processes.Options{Only: []int{one.Process.Pid}}, other.Process.Pid); p.Exe != nil || p.PPID == nil {
		t.Errorf("another process: exe %v, parent %v: want it in part", p.Exe, p.PPID)
	}
}

func TestListening(t *testing.T) {
	t.Parallel()
	c := parts.Start(t, "listen", func(c *exec.Cmd) { c.Env = append(c.Env, "AGENT_SESSION=s-1", "TMUX=/tmp/s,1,0") })
	var want []int
	for word := range strings.FieldsSeq(c.Said) {
		port := must.Get(strconv.Atoi(word))(t)
		want = append(want, port)
	}
	slices.Sort(want)
	p := look(t, processes.Options{Only: []int{c.Process.Pid}}, c.Process.Pid)
	if d := cmp.Diff(&want, p.Listening); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if p.Clients == nil || *p.Clients != 0 {
		t.Errorf("clients %v, want 0", p.Clients)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(c.Said), " ") // the one of IPv4
	client := must.Get(net.Dial("tcp", net.JoinHostPort("127.0.0.1", first)))(t)
	defer client.Close()
	wait.Eventually(t, "the client is counted", func() bool { // it is not known while the machine's sockets change
		p := look(t, processes.Options{Only: []int{c.Process.Pid}}, c.Process.Pid)
		return p.Clients != nil && *p.Clients == 1
	})
	other := parts.Start(t, "idle", nil)
	// What an agent marked is asked where no rule is about it too. That it is in a pane is no such mark.
	for name, o := range map[string]processes.Options{
		"marked":           {Markers: []string{"AGENT_SESSION", "TMUX"}, Panes: []string{"TMUX"}},
		"only another one": {Markers: []string{"AGENT_SESSION", "TMUX"}, Panes: []string{"TMUX"}, Only: []int{other.Process.Pid}},
	} {
		if p := look(t, o, c.Process.Pid); !cmp.Equal(&want, p.Listening) || p.Partial != (len(o.Only) > 0) {
			t.Errorf("%s: listening %v, partial %v", name, p.Listening, p.Partial)
		}
	}
	if p := look(t, processes.Options{Markers: []string{"TMUX"}, Panes: []string{"TMUX"}}, c.Process.Pid); p.Listening != nil || !p.Partial {
		t.Errorf("only in a pane: listening %v, partial %v, want it unknown of a process in part", p.Listening, p.Partial)
	}
}

// TestUnixSockets knows of each sort of unix socket whether a client may connect to it.
func TestUnixSockets(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	abstract := fmt.Sprintf("@winnow-test-%d-%s", os.Getpid(), filepath.Base(dir))
	want := []string{dir + "/datagrams", dir + "/stream", abstract}
	marked := func(c *exec.Cmd) { c.Env = append(c.Env, "AGENT_SESSION=s-1") }
	c, none := parts.Start(t, "unix", marked, want[1], want[0], abstract), parts.Start(t, "idle", marked)
	slices.Sort(want)
	for name, o := range map[string]processes.Options{"in full": {Only: []int{c.Process.Pid}}, "in part": {Markers: []string{"AGENT_SESSION"}, Only: []int{none.Process.Pid}}} {
		if d := cmp.Diff(&want, look(t, o, c.Process.Pid).UnixSockets); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if d := cmp.Diff(&[]string{}, look(t, processes.Options{Markers: []string{"AGENT_SESSION"}}, none.Process.Pid).UnixSockets); d != "" {
		t.Errorf("of a process without any (-want +got):\n%s", d)
	}
}

// shortDir is a folder whose path fits into the name of a unix socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir := must.Get(os.MkdirTemp("", "wx"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestListeningElsewhereIsUnknown(t *testing.T) {
	t.Parallel()
	parts.NeedRoot(t)
	c := parts.Start(t, "idle", func(c *exec.Cmd) { c.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET })
	p := look(t, processes.Options{Only: []int{c.Process.Pid}}, c.Process.Pid)
	if p.Listening != nil {
		t.Errorf("listening %v in another network namespace, want unknown", *p.Listening)
	}
	if p.UnixSockets != nil {
		t.Errorf("unix sockets %v in another network namespace, want unknown", *p.UnixSockets)
	}
}

func TestStartedAt(t *testing.T) {
	t.Parallel()
	before := time.Now()
	c := parts.Start(t, "idle", nil)
	p := look(t, processes.Options{}, c.Process.Pid)
	if p.StartedAt == nil || p.StartedAt.Before(before.Add(-3*time.Second)) || p.StartedAt.After(time.Now().Add(3*time.Second)) {
		t.Errorf("started at %v, want about %v", p.StartedAt, before)
	}
}

func TestDeletedCwd(t *testing.T) {
	t.Parallel()
	base := files.RealTemp(t)
	for name, c := range map[string]struct {
		folder string
		remove bool
	}{
		"gone": {"gone", true}, "named so and alive": {"x (deleted)", false}, "named so and gone": {"y (deleted)", true}, "alive": {"z", false},
	} {
		dir := filepath.Join(base, c.folder)
		must.Do(t, os.Mkdir(dir, 0o755))
		child := parts.Start(t, "idle", func(cmd *exec.Cmd) { cmd.Dir = dir })
		if c.remove {
			must.Do(t, os.Remove(dir))
		}
		p := look(t, processes.Options{}, child.Process.Pid)
		if d := cmp.Diff(snapshot.Process{Cwd: &dir, CwdDeleted: &c.remove}, snapshot.Process{Cwd: p.Cwd, CwdDeleted: p.CwdDeleted}); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestZombie(t *testing.T) {
	t.Parallel()
	c := parts.Start(t, "idle", nil)
	must.Do(t, c.Process.Kill())
	var p snapshot.Process
	wait.Eventually(t, "a zombie", func() bool {
		p = look(t, processes.Options{Only: []int{c.Process.Pid}, Markers: []string{"X"}}, c.Process.Pid)
		return p.State == "Z" && *p.Threads <= 1
	})
	if p.State != "Z" || p.Cwd != nil || p.CwdDeleted != nil || p.Markers != nil || *p.UID != os.Geteuid() {
		t.Errorf("zombie: %+v, want state Z and neither folder nor markers", p)
	}
}

// TestHeadless has a process whose first thread has ended: the kernel calls it a zombie, and it works on.
func TestHeadless(t *testing.T) {
	t.Parallel()
	dir := files.RealTemp(t)
	c := parts.Start(t, "headless", func(c *exec.Cmd) { c.Dir = dir })
	p := look(t, processes.Options{}, c.Process.Pid)
	if p.State != "Z" || *p.Threads < 2 || p.Cwd == nil || *p.Cwd != dir || *p.CwdDeleted {
		t.Errorf("state %s with %d threads in %v, want Z, 2 at least and %s", p.State, *p.Threads, p.Cwd, dir)
	}
	held, known, err := holders.Find(t.Context(), holders.Options{Root: "/proc"}, []string{dir})
	if err != nil || len(held[dir]) != 1 || held[dir][0].PID != c.Process.Pid || held[dir][0].How != "cwd" {
		t.Errorf("known %v, %v: held by %v", known, err, held)
	}
}

// TestRefused has a process of this user that only root may look into.
func TestRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("nothing refuses root")
	}
	c := parts.Start(t, "hider", nil)
	got := must.Get(processes.New(processes.Options{Root: "/proc", Markers: []string{"X"}}).Read(t.Context()))(t)
	p := look(t, processes.Options{Only: []int{c.Process.Pid}, Markers: []string{"X"}}, c.Process.Pid)
	if p.Cwd != nil || p.Markers != nil || p.Exe != nil || p.Listening != nil || *p.UID != os.Geteuid() || got.Unreadable < 1 {
		t.Errorf("%d unreadable, %+v", got.Unreadable, p)
	}
	_, known, err := holders.Find(t.Context(), holders.Options{Root: "/proc"}, []string{files.RealTemp(t)})
	if known || err != nil {
		t.Error(err, "holders known, although a process of this user hides what it uses")
	}
}

func TestHidepid(t *testing.T) {
	t.Parallel()
	parts.NeedRoot(t)
	for _, mode := range []string{"1", "2", "4"} {
		c := parts.Start(t, "hidden", func(c *exec.Cmd) { c.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS }, "/proc", mode)
		var got hidden
		must.Do(t, json.Unmarshal([]byte(c.Said), &got))
		if !got.Partial || !strings.Contains(got.Error, "may still exist") || got.Known || got.Holders != "<nil>" {
			t.Errorf("hidepid=%s: %+v, want a partial look that says so", mode, got)
		}
		if mode == "2" && got.Own != 1 {
			t.Errorf("hidepid=%s: found itself %d times", mode, got.Own)
		}
	}
}
