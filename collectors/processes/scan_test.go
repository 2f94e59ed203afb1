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
	"github.com/winnow-reaper/winnow/test/kit/fakeproc"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func read(f fakeproc.Root, o processes.Options) (collectors.Part, error) {
	o.Root = f.Path
	if o.Classes == nil {
		o.Classes = []string{processes.Marked, processes.CwdDeleted}
	}
	return processes.New(o).Read(context.Background())
}

// all reads the fixture, and gives the processes by their ids.
func all(t testing.TB, f fakeproc.Root, o processes.Options) map[string]*snapshot.Process {
	t.Helper()
	return must.Get(read(f, o))(t).Processes
}

// mine is what every process of a fixture has.
func mine(e fakeproc.Entry) snapshot.Process {
	if e.State == "" {
		e.State = "S"
	}
	return snapshot.Process{
		PID: e.PID, StartTicks: e.Start, StartedAt: new(time.Unix(fakeproc.BootedAt, 0).UTC().Add(time.Duration(e.Start) * 10 * time.Millisecond)),
		PPID: new(e.PPID), PGID: new(e.PID), Session: new(e.PID), ForegroundPGID: new(-1), TTY: new(""), State: e.State, Partial: true,
		Threads: new(max(1, e.Threads)), Kernel: new(false), Name: e.Comm, UID: new(os.Geteuid()), CPU: new(2.5), RSS: new(25 * int64(os.Getpagesize())),
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	alive := files.Folder(t, files.RealTemp(t), "x (deleted)")
	for name, c := range map[string]struct {
		entry      fakeproc.Entry
		want       func(*snapshot.Process)
		unreadable int
	}{
		"plain":    {fakeproc.Entry{Comm: "zsh", Cwd: "/x"}, func(p *snapshot.Process) { p.Cwd, p.CwdDeleted = new("/x"), new(false) }, 0},
		"odd name": {fakeproc.Entry{Comm: ") Z 1 (x\n y", Cwd: "/x"}, func(p *snapshot.Process) { p.Cwd, p.CwdDeleted = new("/x"), new(false) }, 0},
		"terminal": {fakeproc.Entry{Comm: "a", Cwd: "/x", TTY: 34820}, func(p *snapshot.Process) { p.Cwd, p.CwdDeleted, p.TTY = new("/x"), new(false), new("pts/4") }, 0},
		"zombie":   {fakeproc.Entry{Comm: "a", State: "Z"}, func(*snapshot.Process) {}, 0},
		"ending":   {fakeproc.Entry{Comm: "a", State: "R", Flags: 0x4}, func(p *snapshot.Process) { p.State = "X" }, 0},
		"ending beside another thread": {fakeproc.Entry{Comm: "a", State: "R", Flags: 0x4, Threads: 2, Cwd: "/x"}, func(p *snapshot.Process) {
			p.Cwd, p.CwdDeleted = new("/x"), new(false)
		}, 0},
		"kernel thread": {fakeproc.Entry{Comm: "kworker/0:1", Flags: 0x208040}, func(p *snapshot.Process) { *p.Kernel = true }, 0},
		"no folder":     {fakeproc.Entry{Comm: "a"}, func(*snapshot.Process) {}, 1},
		"deleted folder": {fakeproc.Entry{Comm: "a", Cwd: "/no/such/x (deleted)"}, func(p *snapshot.Process) {
			p.Cwd, p.CwdDeleted = new("/no/such/x"), new(true)
		}, 0},
		"folder named so": {fakeproc.Entry{Comm: "a", Cwd: alive}, func(p *snapshot.Process) { p.Cwd, p.CwdDeleted = &alive, new(false) }, 0},
		"newline in folder": {fakeproc.Entry{Comm: "a", Cwd: "/x\ny"}, func(p *snapshot.Process) {
			p.Cwd, p.CwdDeleted = new("/x\ny"), new(false)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fakeproc.New(t)
			c.entry.PID, c.entry.PPID, c.entry.Start = 812, 1, 93211
			f.Process(c.entry)
			want := mine(c.entry)
			c.want(&want)
			got, err := read(f, processes.Options{Classes: []string{}})
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
	f := fakeproc.New(t)
	f.Write("net/tcp", "heading\n 0: 0100007F:1435 00000000:0000 0A 0:0 0:0 0 0 0 4711 1\n")
	f.Process(fakeproc.Entry{PID: 1, Comm: "init", Start: 1, Cwd: "/", Environ: "HOME=/\x00"})
	f.Process(fakeproc.Entry{PID: 10, PPID: 1, Comm: "agent", Start: 5, Cwd: "/", Exe: "/bin/agent", Cmdline: "agent\x00-x\x00", Environ: "A=1\x00B=2\x00",
		FDs: map[int]string{0: "/dev/null", 5: "socket:[4711]", 6: "socket:[4712]"}})
	f.Process(fakeproc.Entry{PID: 11, PPID: 10, Comm: "child", Start: 6, Cwd: "/", Exe: "/bin/child", Environ: "", FDs: map[int]string{0: "/dev/null"}})
	f.Process(fakeproc.Entry{PID: 12, PPID: 1, Comm: "shy", Start: 7, Cwd: "/"})
	must.Do(t, os.Remove(filepath.Join(f.Path, "12/environ")))
	got, err := read(f, processes.Options{Markers: []string{"A"}})
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
	must.Do(t, os.Remove(filepath.Join(f.Path, "net/tcp")))
	if got, err = read(f, processes.Options{Markers: []string{"A"}}); err != nil || got.Processes["process:10@5"].Listening != nil {
		t.Errorf("listening %v without any table, want unknown (error %v)", got.Processes["process:10@5"].Listening, err)
	}
}

// TestMarkedByAPane: a process that only a multiplexer marked is read in part, unless what is above it is not. Where it listens is read of what an agent
// marked and of all below that, also where no rule is about those.
func TestMarkedByAPane(t *testing.T) {
	t.Parallel()
	f := fakeproc.New(t)
	f.Write("net/tcp", "heading\n 0: 0100007F:1435 00000000:0000 0A 0:0 0:0 0 0 0 4711 1\n")
	f.Write("net/unix", "heading\n")
	const pane, agents, both, below, plain = 10, 11, 12, 13, 14
	for pid, environ := range map[int]string{pane: "TMUX=t\x00", agents: "A=1\x00", both: "TMUX=t\x00A=\x00", below: "TMUX=t\x00", plain: "B=1\x00"} {
		e := fakeproc.Entry{PID: pid, PPID: 1, Comm: "x", Start: 5, Cwd: "/", Exe: "/bin/x", Cmdline: "x\x00", Environ: environ, FDs: map[int]string{3: "socket:[4711]"}}
		if pid == below {
			e.PPID = both
		}
		f.Process(e)
	}
	read := func(o processes.Options) (full, served []int) {
		t.Helper()
		o.Markers = []string{"A", "TMUX"}
		for _, p := range all(t, f, o) {
			if !p.Partial {
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
	f := fakeproc.New(t)
	const marked, child, deleted, plain, kernel = 10, 11, 12, 13, 14
	f.Process(fakeproc.Entry{PID: marked, PPID: 1, Comm: "a", Start: 5, Cwd: "/", Exe: "/bin/a", Cmdline: "a\x00", Environ: "A=1\x00"})
	f.Process(fakeproc.Entry{PID: child, PPID: marked, Comm: "b", Start: 6, Cwd: "/", Exe: "/bin/b", Cmdline: "b\x00", Environ: "B=1\x00"})
	f.Process(fakeproc.Entry{PID: deleted, PPID: 1, Comm: "c", Start: 7, Cwd: "/no/such/x (deleted)", Exe: "/bin/c", Cmdline: "c\x00", Environ: "B=1\x00"})
	f.Process(fakeproc.Entry{PID: plain, PPID: 1, Comm: "d", Start: 8, Cwd: "/", Exe: "/bin/d", Cmdline: "d\x00", Environ: "B=1\x00"})
	f.Process(fakeproc.Entry{PID: kernel, PPID: 1, Comm: "kworker/0:1", Flags: 0x208040, Start: 9})
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
		for _, p := range all(t, f, c.o) {
			if p.Partial != (p.ArgvDigest == "") {
				t.Errorf("%s: process %d: brief %v, digest %q", name, p.PID, p.Partial, p.ArgvDigest)
			}
			if !p.Partial {
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
	f := fakeproc.New(t)
	got, err := read(f, processes.Options{})
	if err == nil || got.Partial || len(got.Processes) != 0 {
		t.Errorf("a root without a process: %+v, error %v: want an error and nothing", got, err)
	}
	_, err = processes.New(processes.Options{Root: filepath.Join(f.Path, "none")}).Read(t.Context())
	if !errors.Is(err, collectors.ErrAbsent) {
		t.Errorf("no root: %v, want %v", err, collectors.ErrAbsent)
	}
	f.Process(fakeproc.Entry{PID: 1, Comm: "init", Start: 1, Cwd: "/"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = processes.New(processes.Options{Root: f.Path}).Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("out of time: %v, want %v", err, context.Canceled)
	}
	if os.Geteuid() == 0 {
		return
	}
	must.Do(t, os.Chmod(f.Path, 0))
	_, err = read(f, processes.Options{})
	_ = os.Chmod(f.Path, 0o755)
	if !errors.Is(err, collectors.ErrPermission) {
		t.Errorf("closed root: %v, want %v", err, collectors.ErrPermission)
	}
}

// TestVanishedAndBroken tells a process that ended from one whose stat cannot be understood.
func TestVanishedAndBroken(t *testing.T) {
	t.Parallel()
	f := fakeproc.New(t)
	f.Process(fakeproc.Entry{PID: 1, Comm: "init", Start: 1, Cwd: "/"})
	f.Write("77/cmdline", "no stat\x00")
	got, err := read(f, processes.Options{})
	if err != nil || len(got.Processes) != 1 {
		t.Errorf("a process without stat: %d processes, error %v: want it passed over", len(got.Processes), err)
	}
	f.Write("78/stat", "78 (cut) S 1")
	got, err = read(f, processes.Options{})
	if err == nil || !got.Partial || len(got.Processes) != 1 {
		t.Errorf("an invalid stat: partial %v, %d processes, error %v: want what was read and an error", got.Partial, len(got.Processes), err)
	}
}

func TestFixtureSameAsProcfs(t *testing.T) {
	t.Parallel()
	f := fakeproc.New(t)
	for pid := 1; pid < 300; pid++ {
		f.Process(fakeproc.Entry{PID: pid, PPID: pid / 2, Comm: "p (" + string(rune('a'+pid%26)) + ")", Start: uint64(pid * 3), Cwd: "/w", Threads: pid%4 + 1})
	}
	fs, err := procfs.NewFS(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(f, processes.Options{})
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
