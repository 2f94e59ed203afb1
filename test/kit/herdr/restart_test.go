package herdr

import (
	"errors"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/procs"
)

func TestRestart(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	tab := s.Tab(s.Workspace("work"), "mine", Pane{}, Pane{Argv: []string{"sleep", "1000"}, AgentStatus: "working"})
	before := s.Panes(tab)
	open := dial(t, s)
	s.Restart()
	if out, err := io.ReadAll(open); len(out) > 0 || err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection before: %q, %v", out, err)
	}
	after := s.Panes(tab)
	if len(after) != 2 {
		t.Fatalf("%v", after)
	}
	for i, p := range after {
		if p.ID != before[i].ID || p.Terminal == before[i].Terminal || p.PID == before[i].PID || procs.Lives(before[i].PID) {
			t.Errorf("before %v, after %v", before[i], p)
		}
		if got := asked(t, s, p); got != "true [sh]" {
			t.Error(got)
		}
	}
	if got := tabOf(t, s, tab); got["label"] != "mine" || got["agent_status"] != "unknown" {
		t.Error(got)
	}
}

func TestHandoff(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	tab := s.Tab(s.Workspace("work"), "")
	before := s.Panes(tab)[0]
	open := dial(t, s)
	s.Handoff()
	if out, err := io.ReadAll(open); len(out) > 0 || err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection before: %q, %v", out, err)
	}
	after := s.Panes(tab)[0]
	if after.ID != before.ID || after.PID != before.PID || after.Terminal == before.Terminal {
		t.Errorf("before %v, after %v", before, after)
	}
	if got := asked(t, s, after); got != "true [sh]" {
		t.Error(got)
	}
}

func TestStopEndsTheShells(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	tab := s.Tab(s.Workspace("work"), "")
	p := s.Panes(tab)[0]
	s.Stop(true)
	if procs.Lives(p.PID) {
		t.Error("its shell is alive")
	}
	if _, err := net.Dial("unix", s.Socket()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("it was not gone meanwhile: %v", err)
	}
	if !slices.Equal(s.Tabs(), []string{tab}) {
		t.Error("what is to be restored was forgotten")
	}
	s.Restart()
	must(t, s, "ping", "{}")
}
