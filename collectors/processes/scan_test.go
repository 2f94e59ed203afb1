package processes_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/files"
)

func (f fixture) read(o processes.Options) (collectors.Part, error) {
	o.Root = f.root
	if o.Classes == nil {
		o.Classes = []string{processes.Marked, processes.CwdDeleted}
	}
	return processes.New(o).Read(context.Background())
}

// mine is what every process of a fixture has.
func mine(e entry) snapshot.Process {
	if e.state == "" {
		e.state = "S"
	}
	return snapshot.Process{
		PID: e.pid, StartTicks: e.start, StartedAt: new(time.Unix(bootedAt, 0).UTC().Add(time.Duration(e.start) * 10 * time.Millisecond)),
		PPID: new(e.ppid), PGID: new(e.pid), Session: new(e.pid), ForegroundPGID: new(-1), TTY: new(""), State: e.state, Brief: true,
		Threads: new(max(1, e.threads)), Kernel: new(false), Name: e.comm, UID: new(os.Geteuid()), CPU: new(2.5), RSS: new(25 * int64(os.Getpagesize())),
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	alive := files.Folder(t, realTemp(t), "x (deleted)")
	for name, c := range map[string]struct {
		entry      entry
		want       func(*snapshot.Process)
		unreadable int
	}{
		"plain":    {entry{comm: "zsh", cwd: "/x"}, func(p *snapshot.Process) { p.Cwd, p.CwdDeleted = new("/x"), new(false) }, 0},
		"odd name": {entry{comm: ") Z 1 (x\n y", cwd: "/x"}, func(p *snapshot.Process) { p.Cwd, p.CwdDeleted = new("/x"), new(false) }, 0},
		"terminal": {entry{comm: "a", cwd: "/x", tty: 34820}, func(p *snapshot.Process) { p.Cwd, p.CwdDeleted, p.TTY = new("/x"), new(false), new("pts/4") }, 0},
		"zombie":   {entry{comm: "a", state: "Z"}, func(*snapshot.Process) {}, 0},
		"ending":   {entry{comm: "a", state: "R", flags: 0x4}, func(p *snapshot.Process) { p.State = "X" }, 0},
		"ending beside another thread": {entry{comm: "a", state: "R", flags: 0x4, threads: 2, cwd: "/x"}, func(p *snapshot.Process) {
			p.Cwd, p.CwdDeleted = new("/x"), new(false)
		}, 0},
		"kernel thread": {entry{comm: "kworker/0:1", flags: 0x208040}, func(p *snapshot.Process) { *p.Kernel = true }, 0},
		"no folder":     {entry{comm: "a"}, func(*snapshot.Process) {}, 1},
		"deleted folder": {entry{comm: "a", cwd: "/no/such/x (deleted)"}, func(p *snapshot.Process) {
			p.Cwd, p.CwdDeleted = new("/no/such/x"), new(true)
		}, 0},
		"folder named so": {entry{comm: "a", cwd: alive}, func(p *snapshot.Process) { p.Cwd, p.CwdDeleted = &alive, new(false) }, 0},
		"newline in folder": {entry{comm: "a", cwd: "/x\ny"}, func(p *snapshot.Process) {
			p.Cwd, p.CwdDeleted = new("/x\ny"), new(false)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			c.entry.pid, c.entry.ppid, c.entry.start = 812, 1, 93211
			f.process(c.entry)
			want := mine(c.entry)
			c.want(&want)
			got, err := f.read(processes.Options{Classes: []string{}})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(map[string]*snapshot.Process{"process:812@93211": &want}, got.Processes); d != "" || got.Unreadable != c.unreadable {
				t.Errorf("%d unreadable, want %d (-want +got):\n%s", got.Unreadable, c.unreadable, d)
			}
		})
	}
}

func TestReadInFull(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("net/tcp", "heading\n 0: 0100007F:1435 00000000:0000 0A 0:0 0:0 0 0 0 4711 1\n")
	f.process(entry{pid: 1, comm: "init", start: 1, cwd: "/", environ: "HOME=/\x00"})
	f.process(entry{pid: 10, ppid: 1, comm: "agent", start: 5, cwd: "/", exe: "/bin/agent", cmdline: "agent\x00-x\x00", environ: "A=1\x00B=2\x00",
		fds: map[int]string{0: "/dev/null", 5: "socket:[4711]", 6: "socket:[4712]"}})
	f.process(entry{pid: 11, ppid: 10, comm: "child", start: 6, cwd: "/", exe: "/bin/child", environ: "", fds: map[int]string{0: "/dev/null"}})
	f.process(entry{pid: 12, ppid: 1, comm: "shy", start: 7, cwd: "/"})
	if err := os.Remove(filepath.Join(f.root, "12/environ")); err != nil {
		t.Fatal(err)
	}
	got, err := f.read(processes.Options{Markers: []string{"A"}})
	if err != nil {
		t.Fatal(err)
	}
	type brief struct {
		Exe       *string
		Listening *[]int
		Markers   *map[string]string
		Digested  bool
	}
	found := map[int]brief{}
	for _, p := range got.Processes {
		found[p.PID] = brief{p.Exe, p.Listening, p.Markers, p.ArgvDigest != ""}
	}
	want := map[int]brief{
		1:  {Markers: &map[string]string{}},
		10: {new("/bin/agent"), &[]int{5173}, &map[string]string{"A": "1"}, true},
		11: {Exe: new("/bin/child"), Listening: &[]int{}},
		12: {},
	}
	if d := cmp.Diff(want, found); d != "" || got.Unreadable != 1 {
		t.Errorf("%d unreadable, want 1 (-want +got):\n%s", got.Unreadable, d)
	}
	if err := os.Remove(filepath.Join(f.root, "net/tcp")); err != nil {
		t.Fatal(err)
	}
	if got, err = f.read(processes.Options{Markers: []string{"A"}}); err != nil || got.Processes["process:10@5"].Listening != nil {
		t.Errorf("listening %v without any table, want unknown (error %v)", got.Processes["process:10@5"].Listening, err)
	}
}

// TestMarkedByAPane: a process that only a multiplexer marked is read in brief, unless what is above it is not. Where it listens is read of what an agent
// marked and of all below that, also where no rule is about those.
func TestMarkedByAPane(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("net/tcp", "heading\n 0: 0100007F:1435 00000000:0000 0A 0:0 0:0 0 0 0 4711 1\n")
	f.write("net/unix", "heading\n")
	const pane, agents, both, below, plain = 10, 11, 12, 13, 14
	for pid, environ := range map[int]string{pane: "TMUX=t\x00", agents: "A=1\x00", both: "TMUX=t\x00A=\x00", below: "TMUX=t\x00", plain: "B=1\x00"} {
		e := entry{pid: pid, ppid: 1, comm: "x", start: 5, cwd: "/", exe: "/bin/x", cmdline: "x\x00", environ: environ, fds: map[int]string{3: "socket:[4711]"}}
		if pid == below {
			e.ppid = both
		}
		f.process(e)
	}
	read := func(o processes.Options) (full, served []int) {
		t.Helper()
		o.Markers = []string{"A", "TMUX"}
		for _, p := range f.all(o) {
			if !p.Brief {
				full = append(full, p.PID)
			}
			if p.Listening != nil && slices.Equal(*p.Listening, []int{5173}) {
				served = append(served, p.PID)
			}
		}
		slices.Sort(full)
		slices.Sort(served)
		return full, served
	}
	marked := []int{agents, both, below}
	panes := []string{"TMUX"}
	for name, c := range map[string]struct {
		o            processes.Options
		full, served []int
	}{
		"marked":           {processes.Options{Panes: panes}, marked, marked},
		"none is of panes": {processes.Options{}, []int{pane, agents, both, below}, []int{pane, agents, both, below}},
		"no rule":          {processes.Options{Panes: panes, Classes: []string{}}, nil, marked},
		"only one":         {processes.Options{Panes: panes, Only: []int{plain}}, []int{plain}, append(slices.Clone(marked), plain)},
	} {
		full, served := read(c.o)
		if !slices.Equal(full, c.full) || !slices.Equal(served, c.served) {
			t.Errorf("%s: in full %v, want %v; where they listen of %v, want %v", name, full, c.full, served, c.served)
		}
	}
}

// TestWhatIsReadInFull: that follows from what the rules can be about, and a process says so when only the rest was read.
func TestWhatIsReadInFull(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const marked, child, deleted, plain, kernel = 10, 11, 12, 13, 14
	f.process(entry{pid: marked, ppid: 1, comm: "a", start: 5, cwd: "/", exe: "/bin/a", cmdline: "a\x00", environ: "A=1\x00"})
	f.process(entry{pid: child, ppid: marked, comm: "b", start: 6, cwd: "/", exe: "/bin/b", cmdline: "b\x00", environ: "B=1\x00"})
	f.process(entry{pid: deleted, ppid: 1, comm: "c", start: 7, cwd: "/no/such/x (deleted)", exe: "/bin/c", cmdline: "c\x00", environ: "B=1\x00"})
	f.process(entry{pid: plain, ppid: 1, comm: "d", start: 8, cwd: "/", exe: "/bin/d", cmdline: "d\x00", environ: "B=1\x00"})
	f.process(entry{pid: kernel, ppid: 1, comm: "kworker/0:1", flags: 0x208040, start: 9})
	for name, c := range map[string]struct {
		o    processes.Options
		want []int
	}{
		"no rule":      {processes.Options{Classes: []string{}}, nil},
		"marked":       {processes.Options{Classes: []string{processes.Marked}}, []int{marked, child}},
		"cwd_deleted":  {processes.Options{Classes: []string{processes.CwdDeleted}}, []int{deleted}},
		"both":         {processes.Options{Classes: []string{processes.Marked, processes.CwdDeleted}}, []int{marked, child, deleted}},
		"all":          {processes.Options{All: true}, []int{marked, child, deleted, plain}},
		"only one":     {processes.Options{All: true, Only: []int{plain}}, []int{plain}},
		"only a child": {processes.Options{Only: []int{marked}}, []int{marked, child}},
	} {
		c.o.Markers = []string{"A"}
		var found []int
		for _, p := range f.all(c.o) {
			if p.Brief != (p.ArgvDigest == "") {
				t.Errorf("%s: process %d: brief %v, digest %q", name, p.PID, p.Brief, p.ArgvDigest)
			}
			if !p.Brief {
				found = append(found, p.PID)
			}
		}
		slices.Sort(found)
		if d := cmp.Diff(c.want, found); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestNothingIsNotEmpty(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	got, err := f.read(processes.Options{})
	if err == nil || got.Partial || len(got.Processes) != 0 {
		t.Errorf("a root without a process: %+v, error %v: want an error and nothing", got, err)
	}
	_, err = processes.New(processes.Options{Root: filepath.Join(f.root, "none")}).Read(t.Context())
	if !errors.Is(err, collectors.ErrAbsent) {
		t.Errorf("no root: %v, want %v", err, collectors.ErrAbsent)
	}
	f.process(entry{pid: 1, comm: "init", start: 1, cwd: "/"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = processes.New(processes.Options{Root: f.root}).Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("out of time: %v, want %v", err, context.Canceled)
	}
	if os.Geteuid() == 0 {
		return
	}
	if err := os.Chmod(f.root, 0); err != nil {
		t.Fatal(err)
	}
	_, err = f.read(processes.Options{})
	_ = os.Chmod(f.root, 0o755)
	if !errors.Is(err, collectors.ErrPermission) {
		t.Errorf("closed root: %v, want %v", err, collectors.ErrPermission)
	}
}

// TestVanishedAndBroken tells a process that ended from one whose stat cannot be understood.
func TestVanishedAndBroken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.process(entry{pid: 1, comm: "init", start: 1, cwd: "/"})
	f.write("77/cmdline", "no stat\x00")
	got, err := f.read(processes.Options{})
	if err != nil || len(got.Processes) != 1 {
		t.Errorf("a process without stat: %d processes, error %v: want it passed over", len(got.Processes), err)
	}
	f.write("78/stat", "78 (cut) S 1")
	got, err = f.read(processes.Options{})
	if err == nil || !got.Partial || len(got.Processes) != 1 {
		t.Errorf("an invalid stat: partial %v, %d processes, error %v: want what was read and an error", got.Partial, len(got.Processes), err)
	}
}

func TestFixtureSameAsProcfs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for pid := 1; pid < 300; pid++ {
		f.process(entry{pid: pid, ppid: pid / 2, comm: "p (" + string(rune('a'+pid%26)) + ")", start: uint64(pid * 3), cwd: "/w", threads: pid%4 + 1})
	}
	fs, err := procfs.NewFS(f.root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.read(processes.Options{})
	if err != nil || len(got.Processes) != 299 {
		t.Fatalf("read %d processes: %v", len(got.Processes), err)
	}
	for _, p := range got.Processes {
		want, ok := oracle(fs, p.PID)
		if !ok {
			t.Fatalf("the oracle cannot read process %d", p.PID)
		}
		if d := cmp.Diff(shared(want), shared(*p)); d != "" {
			t.Errorf("process %d (-procfs +ours):\n%s", p.PID, d)
		}
	}
}
