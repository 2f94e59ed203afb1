package top

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/screen"
	screentest "github.com/winnow-reaper/winnow/test/kit/screen"
)

const me = 1000

// seen is a look at an agent with a server and a build below it, a leftover of an agent session and one of none, a shell, and what is of
// another user.
func seen(at time.Time, cpu float64) *snapshot.Snapshot {
	s := &snapshot.Snapshot{TakenAt: at, Processes: map[string]*snapshot.Process{}, Sources: map[string]snapshot.Source{snapshot.Proc: {Status: snapshot.OK}}}
	add := func(pid, ppid, uid int, name string, rss int64, markers map[string]string) {
		exe, started, used := "/usr/bin/"+name, at.Add(-time.Hour), cpu
		p := snapshot.Process{PID: pid, StartTicks: uint64(pid), PPID: &ppid, UID: &uid, Name: name, Exe: &exe, RSS: &rss, StartedAt: &started, CPU: &used, State: "S"}
		if markers == nil {
			markers = map[string]string{}
		}
		p.Markers = &markers
		s.Processes[snapshot.ProcessID(pid, p.StartTicks)] = &p
	}
	add(1, 0, 0, "init", 1, nil)
	add(10, 1, me, "claude", 100<<20, nil)
	add(11, 10, me, "sh", 1<<20, map[string]string{"AGENT_SESSION": "0123456789abcdef0123456789"})
	add(12, 11, me, "cargo", 900<<20, map[string]string{"AGENT_SESSION": "0123456789abcdef0123456789"})
	add(20, 1, me, "vite", 50<<20, map[string]string{"AGENT_SESSION": "fedcba9876543210fedcba9876"})
	add(21, 1, me, "esbuild", 5<<20, map[string]string{"AGENT_FLAG": "1"})
	add(30, 1, me, "zsh", 7<<20, nil)
	add(40, 1, 2000, "claude", 7<<20, nil)
	return s
}

func inputs() Inputs {
	at := time.Unix(1e9, 0).UTC()
	id := snapshot.ProcessID(20, 20)
	s, pane := seen(at.Add(2*time.Second), 11), snapshot.Pane{Session: []snapshot.PaneProc{{PID: 10}}}
	s.Processes[snapshot.ProcessID(12, 12)].Cwd = new("/w/x/src")
	return Inputs{
		Before: seen(at, 10), Snapshot: s, UID: me,
		Places: &snapshot.Snapshot{Sessions: map[string]snapshot.Session{"session:a": {Name: "a", Panes: []snapshot.Pane{pane}}},
			Dirs: map[string]snapshot.Dir{"dir:/w/x": {Path: "/w/x", Git: &snapshot.Git{Worktree: new(true)}}, "dir:/w": {Path: "/w"}}},
		Config:   &subject.Config{Agents: []string{"claude"}, IDMarkers: []string{"AGENT_SESSION"}},
		Verdicts: map[string]decision.Decision{id: {ID: id, Kind: snapshot.KindProcess, Verdict: decision.Reap, Main: &decision.Main{Message: "an agent started it\x1b[2J"}}},
		PSS: func(pid int) (int64, error) {
			if pid == 12 {
				return 800 << 20, nil
			}
			return 0, errors.New("no right")
		},
	}
}

// TestWhoseItIs holds that each process stands below the agent that started it, or the session that left it, and that nothing else is shown.
func TestWhoseItIs(t *testing.T) {
	t.Parallel()
	look := NewLook(inputs())
	if got := fmt.Sprint(look.Owners[0].ID, look.Owners[0].Places, look.Owners[1].Places); got != "process:10@10[{session:a session a} {dir:/w/x worktree /w/x}] []" {
		t.Errorf("the places are %s", got)
	}
	var said []string
	for _, o := range look.Owners {
		line := o.Name
		if o.Alive == nil || !*o.Alive {
			line += map[bool]string{true: " unknown", false: " ended"}[o.Alive == nil]
		}
		for _, p := range o.Processes {
			line += " " + p.Command + ":" + Bytes(p.Memory) + ":" + Share(p.CPU) + ":" + p.Verdict
		}
		said = append(said, line)
	}
	want := []string{
		"claude (10) claude:100.0 MiB:50%: cargo:800.0 MiB:50%: sh:1.0 MiB:50%:",
		"agent session fedcba98 unknown vite:50.0 MiB:50%:reap",
		"marked by an agent, without a session id unknown esbuild:5.0 MiB:50%:",
	}
	if got := strings.Join(said, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if look.Over != 2 || look.Owners[0].Memory != 901<<20 || *look.Owners[0].CPU != 1.5 {
		t.Errorf("over %v s, %d bytes, %v processors", look.Over, look.Owners[0].Memory, *look.Owners[0].CPU)
	}
	in := inputs()
	in.Before = nil
	if first := NewLook(in); first.Over != 0 || first.Owners[0].CPU != nil {
		t.Errorf("a first look knows of processor time: %+v", first.Owners[0])
	}
	in.Snapshot = &snapshot.Snapshot{}
	if none := NewLook(in); none.Owners == nil || len(none.Owners) != 0 {
		t.Errorf("an empty machine has %+v", none.Owners)
	}
}

// TestEverySize draws the view on terminals of every size.
func TestEverySize(t *testing.T) {
	t.Parallel()
	for _, width := range []int{1, 20, 60, 80, 200} {
		for _, height := range []int{1, 4, 20} {
			m := view(t)
			m.Update(tea.WindowSizeMsg{Width: width, Height: height})
			for _, key := range strings.Fields("c m down pgdown pgup home ? ? x n / c l enter esc e") {
				if _, cmd := m.Update(screentest.Key(key)); key == "e" {
					m.Update(cmd())
				}
				lines := strings.Split(m.View().Content, "\n")
				if len(lines) > height {
					t.Fatalf("at %d x %d: %d lines", width, height, len(lines))
				}
				for _, l := range lines {
					if ansi.StringWidth(l) > width || strings.ContainsRune(l, '\x1b') {
						t.Fatalf("at %d x %d a line is wider, or has an escape: %q", width, height, l)
					}
				}
			}
		}
	}
	m := New(t.Context(), Options{Look: func(context.Context) (Look, error) { return Look{}, errors.New("it failed") }})
	m.Update(m.take())
	if !strings.Contains(m.View().Content, "it failed") {
		t.Errorf("a look that failed is not said: %s", m.View().Content)
	}
	m.Update(looked{look: Look{TakenAt: time.Unix(1e9, 0)}})
	if !strings.Contains(m.View().Content, "no agent runs here") {
		t.Errorf("there is no line about a machine without agents: %s", m.View().Content)
	}
}

// view is one of a look on which acts say what they were asked for.
func view(t *testing.T) *Model {
	said := func(verb string) func(string) string { return func(id string) string { return verb + " " + id } }
	m := New(t.Context(), Options{Look: func(context.Context) (Look, error) { return NewLook(inputs()), nil }, Every: time.Hour, Hold: said("held"), End: said("ended"),
		Explain: func(id string) (short, rules screen.Text) {
			return func(int) string { return id + " stays: it lives" }, nil
		}})
	m.Update(m.take())
	return m
}

// TestKeysAct ends only what the cursor is on, and only after a yes.
func TestKeysAct(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]string{
		"x": "", "x n": "", "x esc": "", "x q": "", "x down y": "", "y": "", "h": "held process:10@10", "x y": "ended process:10@10",
		"down x y": "ended session:a", "down down h": "held dir:/w/x", "/ c a r g o enter end x y": "ended process:12@12", "/ v i t e enter home x y": "",
	} {
		m, got := view(t), ""
		for _, key := range strings.Fields(keys) {
			_, cmd := m.Update(screentest.Key(key))
			if cmd == nil {
				continue
			}
			if x, ok := cmd().(done); ok {
				got += x.said
			}
		}
		if got != want {
			t.Errorf("%q did %q, want %q", keys, got, want)
		}
	}
}
