// Package machine makes a small machine as people have it after some weeks with coding agents: repositories with worktrees in the places
// where agents put them, processes that agents left behind beside those of living ones, and tmux sessions. Each thing says whether a
// person wants it gone. Everything in it is real: git, tmux, processes. It lives in a process namespace of its own (Enter), so that no
// other process of the machine is in it, and all of it ends with that namespace.
package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The kinds of things, in the words of candidates' ids.
const (
	Folder  = "dir"
	Process = "process"
	Session = "session"
	// Content is what can be made again in a folder that stays.
	Content = "content"
)

// Thing is one thing of the machine, and what a person wants.
type Thing struct {
	Kind string
	// Name says what it is to a person, Place is its path, its pid or its session's name.
	Name, Place string
	// Want is true where a person wants it gone, and Why says why, or why it must stay.
	Want bool
	Why  string
	// There reports whether it is still there, and whole.
	There func() bool
}

// Machine is the made-up machine.
type Machine struct {
	t testing.TB
	// Home is the user's home; everything lies below it.
	Home   string
	Things []Thing
	// programs holds a program of the test under the names that it plays.
	programs string
}

// New makes an empty machine below a folder of the test.
func New(t testing.TB) *Machine {
	t.Helper()
	root, err := os.MkdirTemp(Temp(), "machine-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	m := &Machine{t: t, Home: filepath.Join(root, "home"), programs: filepath.Join(root, "home", "bin")}
	m.must(os.MkdirAll(m.programs, 0o755))
	return m
}

// Env is the environment of the user's own programs.
func (m *Machine) Env() []string {
	return []string{
		"HOME=" + m.Home, "PATH=" + m.programs + ":" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TERM=xterm", "SHELL=/bin/sh",
		"TMUX_TMPDIR=" + filepath.Join(m.Home, "tmux"), "GIT_CONFIG_NOSYSTEM=1",
	}
}

// Path is a path below the home.
func (m *Machine) Path(parts ...string) string {
	return filepath.Join(append([]string{m.Home}, parts...)...)
}

func (m *Machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *Machine) write(path, text string) {
	m.t.Helper()
	m.must(os.MkdirAll(filepath.Dir(path), 0o755))
	m.must(os.WriteFile(path, []byte(text), 0o644))
}

func (m *Machine) add(t Thing) { m.Things = append(m.Things, t) }

// folder adds a folder. It is whole while all that it held when the machine was finished is there.
func (m *Machine) folder(path, name string, want bool, why string) {
	m.add(Thing{Kind: Folder, Name: name, Place: path, Want: want, Why: why, There: func() bool { return exists(path) }})
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Age sets the times of everything in a tree back.
func age(path string, by time.Duration) error {
	at := time.Now().Add(-by)
	return filepath.Walk(path, func(p string, info os.FileInfo, err error) error {
		if err != nil || info.Mode()&os.ModeSymlink != 0 {
			return err
		}
		return os.Chtimes(p, at, at)
	})
}

// Share is how many of some things a person wants gone, and how many of these are in a set.
type Share struct{ Wanted, Met int }

func (s Share) String() string {
	if s.Wanted == 0 {
		return "0 of 0"
	}
	return fmt.Sprintf("%d of %d (%d %%)", s.Met, s.Wanted, 100*s.Met/s.Wanted)
}

// Shares counts, by kind and for all together (""), the wanted things for which met says yes.
func (m *Machine) Shares(met func(Thing) bool) map[string]Share {
	out := map[string]Share{}
	for _, t := range m.Things {
		if !t.Want {
			continue
		}
		for _, k := range []string{t.Kind, ""} {
			s := out[k]
			s.Wanted++
			if met(t) {
				s.Met++
			}
			out[k] = s
		}
	}
	return out
}

// Line says shares in one line, all together first.
func Line(shares map[string]Share) string {
	parts := []string{shares[""].String()}
	for _, k := range []string{Folder, Process, Session, Content} {
		if s, ok := shares[k]; ok {
			parts = append(parts, fmt.Sprintf("%s %s", k, s))
		}
	}
	return strings.Join(parts, "; ")
}
