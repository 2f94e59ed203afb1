package panes

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"winnow/engine/snapshot"
)

// proc is a process of session sid on pts/1 in its own group, below ppid.
func proc(pid, ppid, sid int, change ...func(*snapshot.Process)) snapshot.Process {
	p := snapshot.Process{PID: pid, StartTicks: uint64(1000 + pid), PPID: &ppid, PGID: new(pid), Session: &sid, ForegroundPGID: new(10),
		TTY: new("pts/1"), State: "S", Threads: new(1), Name: fmt.Sprintf("p%d", pid), Cwd: new(fmt.Sprintf("/cwd/%d", pid))}
	for _, c := range change {
		c(&p)
	}
	return p
}

func world(pane snapshot.Pane, processes ...snapshot.Process) *snapshot.Snapshot {
	s := &snapshot.Snapshot{
		Sources:   map[string]snapshot.Source{snapshot.Proc: {Status: snapshot.OK}},
		Sessions:  map[string]snapshot.Session{"s": {Panes: []snapshot.Pane{pane}}},
		Processes: map[string]snapshot.Process{},
	}
	for _, p := range processes {
		s.Processes[fmt.Sprintf("process:%d@%d", p.PID, p.StartTicks)] = p
	}
	return s
}

func members(pids ...int) (out []snapshot.PaneProc) {
	for _, pid := range pids {
		out = append(out, snapshot.PaneProc{PID: pid, Name: fmt.Sprintf("p%d", pid)})
	}
	return out
}

func TestFill(t *testing.T) {
	t.Parallel()
	bare := snapshot.Pane{ID: "%1", ShellPID: new(10), TTY: "pts/1", Dead: new(false)}
	filled := bare
	filled.ShellStartTicks, filled.Cwd, filled.ForegroundPGID = new(uint64(1010)), "/cwd/10", new(10)
	filled.Foreground, filled.Session, filled.SessionPIDs = members(10), members(10), []int{10}
	with := func(p snapshot.Pane, change func(*snapshot.Pane)) snapshot.Pane {
		change(&p)
		return p
	}
	shell := proc(10, 1, 10)
	zombie := func(threads int) func(*snapshot.Process) {
		return func(p *snapshot.Process) { p.State, p.Threads = "Z", &threads }
	}
	for _, c := range []struct {
		name      string
		pane      snapshot.Pane
		processes []snapshot.Process
		want      snapshot.Pane
	}{
		{"a shell alone", bare, []snapshot.Process{shell, proc(99, 1, 99)}, filled},
		{"a pipeline in the foreground", bare, []snapshot.Process{
			proc(10, 1, 10, func(p *snapshot.Process) { p.ForegroundPGID = new(12) }),
			proc(13, 10, 10, func(p *snapshot.Process) { p.PGID = new(12) }), proc(12, 10, 10), proc(11, 10, 10),
		}, with(filled, func(p *snapshot.Pane) {
			p.ForegroundPGID, p.Foreground = new(12), members(12, 13)
			p.Session, p.SessionPIDs = members(10, 11, 12, 13), []int{10, 11, 12, 13}
		})},
		{"what left the session", bare, []snapshot.Process{
			shell, proc(20, 10, 20), proc(21, 20, 21), proc(22, 10, 10), proc(23, 22, 23), proc(24, 99, 99),
			proc(25, 1, 10), proc(26, 25, 26), // a member whose parent ended, and its child
		}, with(filled, func(p *snapshot.Pane) {
			p.Session, p.SessionPIDs = members(10, 22, 25), []int{10, 22, 25}
			p.Descendants = members(20, 21, 23, 26)
		})},
		{"a member below one that left", bare, []snapshot.Process{shell, proc(20, 10, 20), proc(21, 20, 10)}, with(filled, func(p *snapshot.Pane) {
			p.Session, p.SessionPIDs, p.Descendants = members(10, 21), []int{10, 21}, members(20)
		})},
		{"a zombie is nobody", bare, []snapshot.Process{shell, proc(11, 10, 10, zombie(1)), proc(12, 10, 12, zombie(1))}, filled},
		{"a zombie whose threads live on is somebody", bare, []snapshot.Process{shell, proc(11, 10, 10, zombie(2))}, with(filled, func(p *snapshot.Pane) {
			p.Session, p.SessionPIDs = members(10, 11), []int{10, 11}
		})},
		{"no terminal is in front of", bare, []snapshot.Process{proc(10, 1, 10, func(p *snapshot.Process) { p.ForegroundPGID = new(-1) })},
			with(filled, func(p *snapshot.Pane) { p.ForegroundPGID, p.Foreground = new(-1), nil })},
		{"a terminal that is not known is filled in", with(bare, func(p *snapshot.Pane) { p.TTY = "" }), []snapshot.Process{shell}, filled},
		{"a shell whose cwd cannot be read", bare, []snapshot.Process{proc(10, 1, 10, func(p *snapshot.Process) { p.Cwd = nil })},
			with(filled, func(p *snapshot.Pane) { p.Cwd = "" })},
		{"somebody does not show its session", bare, []snapshot.Process{shell, proc(11, 10, 10, func(p *snapshot.Process) { p.Session = nil })},
			with(filled, func(p *snapshot.Pane) { p.Foreground, p.Session, p.SessionPIDs = nil, nil, nil })},

		{"no such process", bare, []snapshot.Process{proc(11, 1, 11)}, bare},
		{"a pid on another terminal", bare, []snapshot.Process{proc(10, 1, 10, func(p *snapshot.Process) { p.TTY = new("pts/2") })}, bare},
		{"a pid without a terminal", bare, []snapshot.Process{proc(10, 1, 10, func(p *snapshot.Process) { p.TTY = new("") })}, bare},
		{"a pid that leads no session", bare, []snapshot.Process{proc(10, 1, 9)}, bare},
		{"a pid whose session is not known", bare, []snapshot.Process{proc(10, 1, 10, func(p *snapshot.Process) { p.Session = nil })}, bare},
		{"a pid given anew while it was read", bare, []snapshot.Process{shell, proc(10, 1, 10, func(p *snapshot.Process) { p.StartTicks++ })}, bare},
		{"a shell that ended", bare, []snapshot.Process{proc(10, 1, 10, zombie(1)), proc(11, 10, 10)}, bare},
		{"a dead pane", with(bare, func(p *snapshot.Pane) { p.Dead = new(true) }), []snapshot.Process{shell}, with(bare, func(p *snapshot.Pane) { p.Dead = new(true) })},
		{"a pane without a pid", with(bare, func(p *snapshot.Pane) { p.ShellPID = nil }), []snapshot.Process{shell}, with(bare, func(p *snapshot.Pane) { p.ShellPID = nil })},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := world(c.pane, c.processes...)
			s.Tabs = map[string]snapshot.Tab{"t": {Panes: []snapshot.Pane{c.pane}}}
			Fill(s)
			if diff := cmp.Diff(c.want, s.Sessions["s"].Panes[0]); diff != "" {
				t.Errorf("a session's pane (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, s.Tabs["t"].Panes[0]); diff != "" {
				t.Errorf("a tab's pane (-want +got):\n%s", diff)
			}
			for _, status := range []string{snapshot.Failed, snapshot.Absent, ""} {
				s := world(c.pane, c.processes...)
				s.Sources[snapshot.Proc] = snapshot.Source{Status: status}
				Fill(s)
				if diff := cmp.Diff(c.pane, s.Sessions["s"].Panes[0]); diff != "" {
					t.Errorf("with processes that are %q (-want +got):\n%s", status, diff)
				}
			}
		})
	}
}

// BenchmarkFill compares the join with looking through all processes for each pane.
func BenchmarkFill(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		s := crowd(n, n/10)
		Fill(s)
		b.Run(fmt.Sprintf("processes=%d/panes=%d/join", n, n/10), func(b *testing.B) {
			for b.Loop() {
				Fill(s)
			}
		})
		b.Run(fmt.Sprintf("processes=%d/panes=%d/scan a pane", n, n/10), func(b *testing.B) {
			for b.Loop() {
				for _, session := range s.Sessions {
					for _, pane := range session.Panes {
						if len(scan(s, *pane.ShellPID)) != len(pane.SessionPIDs) {
							b.Fatal("the two do not agree")
						}
					}
				}
			}
		})
	}
}

// crowd makes panes of ten processes each: a shell, seven members and a child with a child of its own that left.
func crowd(n, panes int) *snapshot.Snapshot {
	s := world(snapshot.Pane{})
	s.Sessions = map[string]snapshot.Session{}
	for i := range panes {
		shell := 10 + i*10
		for j := range n / panes {
			p := proc(shell+j, shell, shell)
			switch j {
			case 0:
				p.PPID = new(1)
			case 8:
				p.Session = new(shell + 8)
			case 9:
				p.PPID, p.Session = new(shell+8), new(shell+9)
			}
			s.Processes[fmt.Sprintf("process:%d@%d", p.PID, p.StartTicks)] = p
		}
		s.Sessions[fmt.Sprint(i)] = snapshot.Session{Panes: []snapshot.Pane{{ShellPID: &shell, TTY: "pts/1"}}}
	}
	return s
}

func scan(s *snapshot.Snapshot, shell int) (members []int) {
	for _, p := range s.Processes {
		if *p.Session == shell {
			members = append(members, p.PID)
		}
	}
	slices.Sort(members)
	return members
}
