package top

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/text"
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
	return Inputs{
		Before: seen(at, 10), Snapshot: seen(at.Add(2*time.Second), 11), UID: me,
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
			m := New(t.Context(), Options{Look: func(context.Context) (Look, error) { return NewLook(inputs()), nil }, Every: time.Hour})
			m.Update(tea.WindowSizeMsg{Width: width, Height: height})
			m.Update(m.take())
			for _, key := range []string{"", "c", "m", "down", "pgdown", "pgup", "home"} {
				m.key(key)
				lines := strings.Split(m.screen(), "\n")
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
	if !strings.Contains(m.screen(), "it failed") {
		t.Errorf("a look that failed is not said: %s", m.screen())
	}
	if lines := Lines(text.Paint{}, Look{}, 80); len(lines) != 1 {
		t.Errorf("there is no line about a machine without agents: %q", lines)
	}
}
