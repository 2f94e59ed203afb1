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

	"winnow/testkit/crowd"
	"winnow/testkit/executable"
	"winnow/testkit/machine"
)

// states are how the worktrees of a world are. All are clean and not locked, and nobody works in them.
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
// time. Its peers are ps -e, and git status in each worktree.
func BenchmarkSweep(b *testing.B) {
	if !machine.Inside() {
		b.Skip("this machine allows no process namespace of its own, so other processes would be in the figures")
	}
	eachSize(b, func(b *testing.B, size crowd.Size) {
		w := crowd.New(b, size)
		if !w.Static {
			b.Log("no static C program could be made: the processes are sleep(1)'s, with more mapped in each")
		}
		for _, s := range states {
			b.Run(s.name, func(b *testing.B) {
				if s.age > 0 {
					w.Age(s.age)
				}
				benchSweep(b, w, s.reaped)
			})
		}
	})
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

func benchSweep(b *testing.B, w *crowd.World, reaped bool) {
	m := newMeter(b, w.Home, w.Env())
	all := programs(b)
	figures := map[string]*sweeps{}
	var ps, status least
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
		ps.add(m.order(order{Argv: []string{"ps", "-e"}}))
		status.add(gitStatus(m, w))
	}
	for _, p := range all {
		if err := os.RemoveAll(w.State()); err != nil {
			b.Fatal(err)
		}
		for _, turn := range turns {
			f := figures[p.name+"/"+turn]
			f.execs = countExecs(b, m, w, p)
			f.seen = look(b, m, w, p)
			f.check(b, w, reaped)
			line(b, p.name+"/"+turn, append(f.metrics(), f.times(&ps, "ps"), f.times(&status, "git-status"))...)
		}
	}
	line(b, "ps", ps.metrics()...)
	line(b, "git-status", status.metrics()...)
}

func (s *sweeps) once(b *testing.B, m *meter, w *crowd.World, p program) {
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

// look runs a sweep whose report is read. It is not measured.
func look(b *testing.B, m *meter, w *crowd.World, p program) census {
	b.Helper()
	out := filepath.Join(w.Home, "report.json")
	m.order(order{Argv: []string{p.path, "sweep", "--format", "json"}, Out: out})
	text, err := os.ReadFile(out)
	if err != nil {
		b.Fatal(err)
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
	if err := json.Unmarshal(text, &r); err != nil {
		b.Fatal(err)
	}
	c := census{seen: map[string]int{}}
	for kind, n := range r.Census {
		c.seen[kind] = n.Seen
		c.inScope += n.InScope
	}
	for _, d := range r.Decisions {
		if d.Kind == machine.Folder && len(d.Findings) > 0 {
			c.found++
		}
	}
	return c
}

// check holds that the sweep saw the whole world: a figure of a sweep that missed a part of it is none.
func (s *sweeps) check(b *testing.B, w *crowd.World, reaped bool) {
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

// countExecs runs a sweep that finds git and tmux by way of scripts that count, and says how often each ran. It is not measured.
func countExecs(b *testing.B, m *meter, w *crowd.World, p program) map[string]int {
	b.Helper()
	dir, log := filepath.Join(w.Home, "counting"), filepath.Join(w.Home, "counted")
	if err := os.RemoveAll(log); err != nil {
		b.Fatal(err)
	}
	counted := []string{"git", "tmux"}
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
	m.order(order{Argv: []string{p.path, "sweep"}, Env: env})
	text, err := os.ReadFile(log)
	if err != nil {
		b.Fatalf("no program was counted: %v", err)
	}
	out := map[string]int{}
	for _, name := range counted {
		out[name] = strings.Count(string(text), name+"\n")
	}
	return out
}

// gitStatus asks git of each worktree in turn, as a script does. It may not write the index anew, which would make the worktree young.
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
