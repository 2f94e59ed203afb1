package bench_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/crowd"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/floor"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// states are how the worktrees of a world are. All are clean and not locked, and no process works in them.
var states = []struct {
	name string
	age  time.Duration
	// reaped says whether a rule finds each of them.
	reaped bool
}{
	{"young", 0, false},                 // rules.grace.dir keeps each
	{"quiet", 2 * time.Hour, false},     // nothing keeps them, and no rule finds them: too young for each
	{"spent", 8 * 24 * time.Hour, true}, // nothing was ever done in them: each may go
}

// BenchmarkSweep runs winnow sweep with the default configuration in a world of its own: the first time (without a state folder), again, and a third
// time. Its peers are ps -e, a C program that reads
// every link of every process in one pass (test/kit/floor), and git status in each worktree. The worktrees lie in 20 folders, as several agents and a few repositories make them.
func BenchmarkSweep(b *testing.B) {
	eachSize(b, func(b *testing.B, size crowd.Size, all []program) {
		w := newWorld(b, size)
		for _, s := range states {
			b.Run(s.name, func(b *testing.B) {
				if s.age > 0 {
					w.Age(s.age)
				}
				benchSweep(b, w, all, s.reaped)
			})
		}
	})
}

// BenchmarkSweepOneFolder is BenchmarkSweep where all worktrees are one repository's, in one folder.
func BenchmarkSweepOneFolder(b *testing.B) {
	eachSize(b, func(b *testing.B, size crowd.Size, all []program) {
		size.OneFolder = true
		benchSweep(b, newWorld(b, size), all, false)
	})
}

func newWorld(b testing.TB, size crowd.Size) *crowd.World {
	b.Helper()
	if !machine.Inside() {
		b.Skip("this machine allows no process namespace of its own, so other processes would be in the figures")
	}
	w := crowd.New(b, size)
	if !w.Static {
		b.Log("no static C program could be made: the processes are sleep(1)'s, with more mapped in each")
	}
	// On a busy machine a source may take longer than by default, and a sweep that gave up on one is not what is measured.
	files.Write(b, filepath.Join(w.Home, ".config", "winnow", "config.yaml"), "version: 1\ncollect: {timeout: 10m}\npolicy: {timeout: 1m}\n")
	return w
}

// The sweeps of one round, in their order.
var turns = []string{"first", "again", "third"}

type sweeps struct {
	least
	// tmux is what the tmux server used meanwhile.
	tmux time.Duration
	// state is what the state folder grew by, in bytes.
	state int64
	seen  census
	execs map[string]int
}

func benchSweep(b *testing.B, w *crowd.World, all []program, reaped bool) {
	m := newMeter(b, w.Home, w.Env())
	figures := map[string]*sweeps{}
	var ps, status, onePass least
	var pass floor.Program
	if _, err := exec.LookPath("cc"); err == nil { // without it the other peers are left
		pass = floor.Build(b)
	}
	for range *rounds {
		for _, p := range all {
			if err := os.RemoveAll(w.State()); err != nil {
				b.Fatal(err)
			}
			for _, turn := range turns {
				f := figures[p.name+"/"+turn]
				if f == nil {
					f = &sweeps{}
					figures[p.name+"/"+turn] = f
				}
				f.once(b, m, w, p)
			}
		}
		ps.add(m.run("ps", "-e"))
		if pass != "" {
			onePass.add(m.run(string(pass), "read", floor.Look, "/proc", "1"))
		}
		status.add(gitStatus(m, w))
	}
	for _, p := range all {
		if err := os.RemoveAll(w.State()); err != nil {
			b.Fatal(err)
		}
		for _, turn := range turns {
			f := figures[p.name+"/"+turn]
			f.look(b, m, w, p)
			f.check(b, w, reaped)
			metrics := append(f.metrics(), f.times(&ps, "ps"), f.times(&status, "git-status"))
			if pass != "" {
				metrics = append(metrics, f.times(&onePass, "floor"))
			}
			if older := figures["against/"+turn]; older != nil && older != f {
				metrics = append(metrics, f.times(&older.least, "against"))
			}
			line(b, p.name+"/"+turn, metrics...)
		}
	}
	line(b, "ps", ps.metrics()...)
	if pass != "" {
		line(b, "floor", onePass.metrics()...)
	}
	line(b, "git-status", status.metrics()...)
}

func (s *sweeps) once(b testing.TB, m *meter, w *crowd.World, p program) {
	b.Helper()
	size, server := sizeOf(w.State()), processorTime(w.Server)
	c := m.order(order{Argv: []string{p.path, "sweep"}, Out: filepath.Join(w.Home, "report.txt")})
	server = processorTime(w.Server) - server
	if s.rounds == 0 || server < s.tmux {
		s.tmux = server
	}
	s.add(c)
	s.state = sizeOf(w.State()) - size
}

func (s *sweeps) metrics() []metric {
	return append(s.least.metrics(),
		metric{float64(s.tmux.Microseconds()) / 1e3, "tmux-server-ms"},
		metric{float64(s.Written) / 1e3, "written-kB"},
		metric{float64(s.state) / 1e3, "state-kB"},
		metric{float64(s.execs["git"]), "git-execs"},
		metric{float64(s.execs["tmux"]), "tmux-execs"},
		metric{float64(s.seen.inScope), "in-scope"},
		metric{float64(s.seen.found), "found"})
}

// census is what a sweep saw: by kind, in scope of all kinds, and how many folders a rule found.
type census struct {
	seen           map[string]int
	inScope, found int
}

// counted are the programs whose starts in a sweep are counted.
var counted = []string{"git", "tmux"}

// look runs a sweep whose report is read, and which finds some programs by way of scripts that count how often each is run. It is not measured.
func (s *sweeps) look(b testing.TB, m *meter, w *crowd.World, p program) {
	b.Helper()
	dir, log, out := filepath.Join(w.Home, "counting"), filepath.Join(w.Home, "counted"), filepath.Join(w.Home, "report.json")
	files.Write(b, log, "")
	for _, name := range counted {
		real, err := exec.LookPath(name)
		if err != nil {
			b.Fatal(err)
		}
		executable.Write(b, filepath.Join(dir, name), fmt.Sprintf("#!/bin/sh\necho %s >>%s\nexec %s \"$@\"\n", name, log, real))
	}
	env := slices.Clone(m.env)
	for i, v := range env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			env[i] = "PATH=" + dir + ":" + path
		}
	}
	m.order(order{Argv: []string{p.path, "sweep", "--format", "json"}, Env: env, Out: out})

	s.execs = map[string]int{}
	text, err := os.ReadFile(log)
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range counted {
		s.execs[name] = strings.Count(string(text), name+"\n")
	}
	var r struct {
		Census map[string]struct {
			Seen    int `json:"seen"`
			InScope int `json:"in_scope"`
		}
		Decisions []struct {
			Kind     string
			Findings []struct{ Rule string }
		}
	}
	if text, err = os.ReadFile(out); err != nil {
		b.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		b.Fatal(err)
	}
	s.seen = census{seen: map[string]int{}}
	for kind, n := range r.Census {
		s.seen.seen[kind] = n.Seen
		s.seen.inScope += n.InScope
	}
	for _, d := range r.Decisions {
		if d.Kind == machine.Folder && len(d.Findings) > 0 {
			s.seen.found++
		}
	}
}

// check holds that the sweep saw the whole world: a figure of a sweep that missed a part of it does not count.
func (s *sweeps) check(b testing.TB, w *crowd.World, reaped bool) {
	b.Helper()
	want := 0
	if reaped {
		want = w.Size.Worktrees
	}
	// Each pane is one process. The repositories' own checkouts are seen too.
	if got := s.seen; got.seen[machine.Process] < w.Size.Processes+w.Size.Panes || got.seen[machine.Folder] < w.Size.Worktrees || got.found != want {
		b.Fatalf("of %s the sweep saw %v, and a rule found %d folders, not %d", w.Size, got.seen, got.found, want)
	}
}

// gitStatus asks git of each worktree in turn, as a script does. It may not write the index again, which would make the worktree young.
func gitStatus(m *meter, w *crowd.World) (sum cost) {
	for _, path := range w.Worktrees {
		c := m.order(order{Argv: []string{"git", "--no-optional-locks", "-C", path, "status", "--porcelain"}})
		sum.CPU += c.CPU
		sum.Wall += c.Wall
		sum.Memory = max(sum.Memory, c.Memory)
	}
	return sum
}

// processorTime is what a process has used until now.
func processorTime(pid int) time.Duration {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/schedstat")
	ns, _, _ := strings.Cut(string(text), " ")
	n, _ := strconv.ParseInt(ns, 10, 64)
	return time.Duration(n)
}

// sizeOf is how many bytes the files of a folder have; one that is missing has none.
func sizeOf(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// TestSweep holds on the smallest world that what the benchmarks report is what happened.
func TestSweep(t *testing.T) {
	stage.NeedSecond(t, "it needs programs beside Go, git and tmux, or minutes")
	if !machine.Enter(t) {
		return
	}
	w := newWorld(t, crowd.Size{Processes: 30, Panes: 6, Worktrees: 8})
	m := newMeter(t, w.Home, w.Env())
	p := program{"winnow", compiled(t)}
	for _, s := range states {
		if s.age > 0 {
			w.Age(s.age)
		}
		var f sweeps
		f.once(t, m, w, p)
		f.look(t, m, w, p)
		f.check(t, w, s.reaped)
		if f.CPU <= 0 || f.Wall <= 0 || f.Memory < 10e6 || f.state < 0 || sizeOf(w.State()) == 0 || f.execs["tmux"] == 0 || f.execs["git"] == 0 {
			t.Errorf("%s: %+v", s.name, f)
		}
		if c := gitStatus(m, w); c.CPU <= 0 {
			t.Errorf("git status: %+v", c)
		}
	}
	if c := m.order(order{Argv: []string{"sh", "-c", "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; true"}}); c.CPU < 5*time.Millisecond || c.Memory > 10e6 && !attack.Raced {
		t.Errorf("what a child of the program used is not counted, or what it did not use is: %+v", c)
	}
}
