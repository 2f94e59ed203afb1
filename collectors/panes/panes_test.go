package panes

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
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
		Processes: map[string]*snapshot.Process{},
	}
	for _, p := range processes {
		s.Processes[fmt.Sprintf("process:%d@%d", p.PID, p.StartTicks)] = &p
	}
	return s
}

func members(pids ...int) []snapshot.PaneProc {
	out := []snapshot.PaneProc{}
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
	filled.Descendants = members()
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
		{"a zombie does not count", bare, []snapshot.Process{shell, proc(11, 10, 10, zombie(1)), proc(12, 10, 12, zombie(1))}, filled},
		{"a zombie whose threads live on counts", bare, []snapshot.Process{shell, proc(11, 10, 10, zombie(2))}, with(filled, func(p *snapshot.Pane) {
			p.Session, p.SessionPIDs = members(10, 11), []int{10, 11}
		})},
		{"no terminal is in front of", bare, []snapshot.Process{proc(10, 1, 10, func(p *snapshot.Process) { p.ForegroundPGID = new(-1) })},
			with(filled, func(p *snapshot.Pane) { p.ForegroundPGID, p.Foreground = new(-1), members() })},
		{"a terminal that is not known is filled in", with(bare, func(p *snapshot.Pane) { p.TTY = "" }), []snapshot.Process{shell}, filled},
		{"a shell whose cwd cannot be read", bare, []snapshot.Process{proc(10, 1, 10, func(p *snapshot.Process) { p.Cwd = nil })},
			with(filled, func(p *snapshot.Pane) { p.Cwd = "" })},
		{"a process does not show its session", bare, []snapshot.Process{shell, proc(11, 10, 10, func(p *snapshot.Process) { p.Session = nil })},
			with(filled, func(p *snapshot.Pane) { p.Foreground, p.Session, p.SessionPIDs, p.Descendants = nil, nil, nil, nil })},

		{"no such process", bare, []snapshot.Process{proc(11, 1, 11)}, bare},
		{"a pid on another terminal", bare, []snapshot.Process{proc(10, 1, 10, func(p *snapshot.Process) { p.TTY = new("pts/2") })}, bare},
		{"a pid without a terminal", bare, []snapshot.Process{proc(10, 1, 10, func(p *snapshot.Process) { p.TTY = new("") })}, bare},
		{"a pid that leads no session", bare, []snapshot.Process{proc(10, 1, 9)}, bare},
		{"a pid whose session is not known", bare, []snapshot.Process{proc(10, 1, 10, func(p *snapshot.Process) { p.Session = nil })}, bare},
		{"a pid reused while it was read", bare, []snapshot.Process{shell, proc(10, 1, 10, func(p *snapshot.Process) { p.StartTicks++ })}, bare},
		{"a shell that ended", bare, []snapshot.Process{proc(10, 1, 10, zombie(1)), proc(11, 10, 10)}, bare},
		{"a dead pane", with(bare, func(p *snapshot.Pane) { p.Dead = new(true) }), []snapshot.Process{shell}, with(bare, func(p *snapshot.Pane) { p.Dead = new(true) })},
		{"a pane without a pid", with(bare, func(p *snapshot.Pane) { p.ShellPID = nil }), []snapshot.Process{shell}, with(bare, func(p *snapshot.Pane) { p.ShellPID = nil })},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := world(c.pane, c.processes...)
			Fill(s)
			must.Equal(t, c.want, s.Sessions["s"].Panes[0], "a session's pane")
			for _, status := range []string{snapshot.Failed, snapshot.Absent, ""} {
				s := world(c.pane, c.processes...)
				s.Sources[snapshot.Proc] = snapshot.Source{Status: status}
				Fill(s)
				must.Equal(t, c.pane, s.Sessions["s"].Panes[0], "with processes that are %q", status)
			}
		})
	}
}

// tabWorld has one tab with one pane, whose server is pid 5 with a shell, pid 10, below it.
func tabWorld(pane snapshot.Pane, processes ...snapshot.Process) *snapshot.Snapshot {
	s := world(snapshot.Pane{}, processes...)
	s.Sessions = nil
	s.Host = snapshot.Host{UID: new(7), OrphanParents: []int{1, 3}}
	s.Sources["herdr/default"] = snapshot.Source{Status: snapshot.OK, Server: &snapshot.Server{Socket: "/s", PID: 5, StartTicks: new(uint64(1005))}}
	s.Tabs = map[string]snapshot.Tab{"t": {Source: "herdr/default", Panes: []snapshot.Pane{pane}}}
	return s
}

func asked(interactive bool) func(*snapshot.Process) {
	return func(p *snapshot.Process) { p.Interactive = &interactive }
}

func mineToo(p *snapshot.Process) { p.UID = new(7) }

func TestFillATab(t *testing.T) {
	t.Parallel()
	bare := snapshot.Pane{ID: "w1:p1", Terminal: "term_1", ShellPID: new(10), ForegroundPGID: new(10), Foreground: members(10), AgentStatus: "idle"}
	filled := bare
	filled.ShellStartTicks, filled.Cwd, filled.TTY, filled.Dead = new(uint64(1010)), "/cwd/10", "pts/1", new(false)
	filled.Session, filled.SessionPIDs = members(10), []int{10}
	filled.Descendants, filled.Carriers = members(), members()
	lost := snapshot.Pane{ID: "w1:p1", Terminal: "term_1", AgentStatus: "idle",
		Error: new("pid 10 is not a process of this server here: the socket may lead to another machine or pid namespace")}
	gone := lost
	gone.Error = new("pid 10 is not here: it ended, or the socket leads to another machine or pid namespace")
	with := func(p snapshot.Pane, change func(*snapshot.Pane)) snapshot.Pane {
		change(&p)
		return p
	}
	server := proc(5, 1, 5)
	shell := func(change ...func(*snapshot.Process)) snapshot.Process {
		return proc(10, 5, 10, append([]func(*snapshot.Process){mineToo}, change...)...)
	}
	stray := func(change ...func(*snapshot.Process)) snapshot.Process { // below no known process
		return shell(append(change, func(p *snapshot.Process) { p.PPID = new(1) })...)
	}
	marked := func(socket string) func(*snapshot.Process) {
		return func(p *snapshot.Process) { p.Markers = &map[string]string{"HERDR_SOCKET_PATH": socket} }
	}
	none := func(*snapshot.Snapshot) {}
	answered := func(change func(*snapshot.Server)) func(*snapshot.Snapshot) {
		return func(s *snapshot.Snapshot) { change(s.Sources["herdr/default"].Server) }
	}
	for _, c := range []struct {
		name      string
		pane      snapshot.Pane
		processes []snapshot.Process
		change    func(*snapshot.Snapshot)
		want      snapshot.Pane
	}{
		{"a child of the server", bare, []snapshot.Process{server, shell()}, none, filled},
		{"a shell that is interactive, which herdr does not tell", bare,
			[]snapshot.Process{server, shell(asked(true)), proc(11, 10, 10, asked(false))}, none,
			with(filled, func(p *snapshot.Pane) {
				p.Foreground, p.Session, p.SessionPIDs = members(10), members(10, 11), []int{10, 11}
				p.Foreground[0].Interactive, p.Session[0].Interactive, p.Session[1].Interactive = new(true), new(true), new(false)
			})},
		{"further below it", bare, []snapshot.Process{server, proc(6, 5, 6), shell(func(p *snapshot.Process) { p.PPID = new(6) })}, none, filled},
		{"a server whose start is not known", bare, []snapshot.Process{server, shell()}, answered(func(s *snapshot.Server) { s.StartTicks = nil }), filled},
		{"given the server's socket", bare, []snapshot.Process{stray(marked("/s"))}, none, filled},
		{"a server outside of this namespace, and its socket given", bare, []snapshot.Process{stray(marked("/s"))},
			answered(func(s *snapshot.Server) { s.PID = 0 }), filled},
		{"what else lives in its session and has left it", bare, []snapshot.Process{server, shell(), proc(11, 10, 10), proc(12, 11, 12)}, none,
			with(filled, func(p *snapshot.Pane) {
				p.Session, p.SessionPIDs, p.Descendants = members(10, 11), []int{10, 11}, members(12)
			})},

		{"no such process", bare, []snapshot.Process{server}, none, gone},
		{"no process at all", bare, nil, none, gone},
		{"of another parent", bare, []snapshot.Process{server, proc(6, 1, 6), shell(func(p *snapshot.Process) { p.PPID = new(6) })}, none, lost},
		{"given another socket", bare, []snapshot.Process{server, stray(marked("/other"))}, none, lost},
		{"given no socket", bare, []snapshot.Process{server, stray(marked(""))}, answered(func(s *snapshot.Server) { s.Socket = "" }), lost},
		{"a parent that is not known", bare, []snapshot.Process{server, shell(func(p *snapshot.Process) { p.PPID = nil })}, none, lost},
		{"a parent that is younger", bare, []snapshot.Process{proc(5, 1, 5, func(p *snapshot.Process) { p.StartTicks = 2000 }), shell()},
			answered(func(s *snapshot.Server) { s.StartTicks = nil }), lost},
		{"parents in a circle", bare, []snapshot.Process{server,
			proc(6, 10, 6, func(p *snapshot.Process) { p.StartTicks = 1010 }), shell(func(p *snapshot.Process) { p.PPID = new(6) })}, none, lost},
		{"a server's pid that another process has by now", bare, []snapshot.Process{server, shell()},
			answered(func(s *snapshot.Server) { s.StartTicks = new(uint64(1004)) }), lost},
		{"a server that inherits orphans", bare, []snapshot.Process{server, shell()}, func(s *snapshot.Snapshot) { s.Host.OrphanParents = []int{1, 5} }, lost},
		{"a socket that process 1 listens on", bare, []snapshot.Process{proc(1, 0, 1), shell(func(p *snapshot.Process) { p.PPID = new(1) })},
			func(s *snapshot.Snapshot) {
				s.Host.OrphanParents = nil
				*s.Sources["herdr/default"].Server = snapshot.Server{Socket: "/s", PID: 1}
			}, lost},
		{"a source without a server", bare, []snapshot.Process{server, shell(marked("/s"))},
			func(s *snapshot.Snapshot) { s.Sources["herdr/default"] = snapshot.Source{Status: snapshot.OK} }, lost},
		{"another user's", bare, []snapshot.Process{server, shell(marked("/s"), func(p *snapshot.Process) { p.UID = new(8) })}, none, lost},
		{"whose is not known", bare, []snapshot.Process{server, shell(marked("/s"), func(p *snapshot.Process) { p.UID = nil })}, none, lost},
		{"who looks is not known", bare, []snapshot.Process{server, shell(marked("/s"))}, func(s *snapshot.Snapshot) { s.Host.UID = nil }, lost},
		{"no terminal", bare, []snapshot.Process{server, shell(marked("/s"), func(p *snapshot.Process) { p.TTY = new("") })}, none, lost},
		{"a terminal that is not known", bare, []snapshot.Process{server, shell(marked("/s"), func(p *snapshot.Process) { p.TTY = nil })}, none, lost},
		{"no leader of a session", bare, []snapshot.Process{server, shell(marked("/s"), func(p *snapshot.Process) { p.Session = new(9) })}, none, lost},
		{"processes that were not read whole", bare, []snapshot.Process{server, shell(marked("/s"))},
			func(s *snapshot.Snapshot) { s.Sources[snapshot.Proc] = snapshot.Source{Status: snapshot.Failed} },
			with(lost, func(p *snapshot.Pane) {
				p.Error = new("the processes of this machine were not read whole, so herdr's word on this pane is not confirmed")
			})},
		{"a pane that herdr could not tell about", with(lost, func(p *snapshot.Pane) { p.Error = new("process_info: no") }), []snapshot.Process{server, shell()}, none,
			with(lost, func(p *snapshot.Pane) { p.Error = new("process_info: no") })},

		{"herdr lists one that is not in the group here", with(bare, func(p *snapshot.Pane) { p.Foreground = members(10, 77) }), []snapshot.Process{server, shell()},
			none, with(filled, func(p *snapshot.Pane) { p.Foreground = members(10, 77) })},
		{"herdr leaves out one that is in the group here", bare,
			[]snapshot.Process{server, shell(), proc(11, 10, 10, func(p *snapshot.Process) { p.PGID = new(10) })}, none,
			with(filled, func(p *snapshot.Pane) {
				p.Foreground, p.Session, p.SessionPIDs = members(10, 11), members(10, 11), []int{10, 11}
			})},
		{"herdr sees another group in front", with(bare, func(p *snapshot.Pane) { p.ForegroundPGID, p.Foreground = new(77), members(77) }),
			[]snapshot.Process{server, shell()}, none,
			with(filled, func(p *snapshot.Pane) { p.ForegroundPGID, p.Foreground = nil, members(10, 77) })},
		{"another group is in front by now", bare,
			[]snapshot.Process{server, shell(func(p *snapshot.Process) { p.ForegroundPGID = new(11) }), proc(11, 10, 10)}, none,
			with(filled, func(p *snapshot.Pane) {
				p.ForegroundPGID, p.Foreground, p.Session, p.SessionPIDs = nil, members(10, 11), members(10, 11), []int{10, 11}
			})},
		{"herdr does not know the group", with(bare, func(p *snapshot.Pane) { p.ForegroundPGID = nil }), []snapshot.Process{server, shell()}, none,
			with(filled, func(p *snapshot.Pane) { p.ForegroundPGID = nil })},
		{"the group is not known here", bare, []snapshot.Process{server, shell(func(p *snapshot.Process) { p.ForegroundPGID = nil })}, none,
			with(filled, func(p *snapshot.Pane) { p.ForegroundPGID = nil })},
		{"the shell became another program in between", with(bare, func(p *snapshot.Pane) { p.Foreground = []snapshot.PaneProc{{PID: 10, Name: "agent"}} }),
			[]snapshot.Process{server, shell()}, none,
			with(filled, func(p *snapshot.Pane) {
				p.Foreground = []snapshot.PaneProc{{PID: 10, Name: "agent"}, {PID: 10, Name: "p10"}}
			})},
		{"a process does not show its session", bare, []snapshot.Process{server, shell(), proc(11, 10, 10, func(p *snapshot.Process) { p.Session = nil })}, none,
			with(filled, func(p *snapshot.Pane) {
				p.Foreground, p.Session, p.SessionPIDs, p.Descendants, p.Carriers = nil, nil, nil, nil, nil
			})},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := tabWorld(c.pane, c.processes...)
			c.change(s)
			Fill(s)
			must.Equal(t, c.want, s.Tabs["t"].Panes[0], "pane")
		})
	}
}

// A terminal's shellper is found by pid and start; below it is what it started, also what its own parent no longer claims.
func TestFillTerminal(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	bare := snapshot.Terminal{ID: "x", PID: new(10), StartTicks: new(uint64(1010))}
	with := func(change func(*snapshot.Terminal)) snapshot.Terminal {
		x := bare
		change(&x)
		return x
	}
	below := func(pids ...int) snapshot.Terminal {
		return with(func(x *snapshot.Terminal) {
			x.StartedAt, x.Below = &at, new(append([]snapshot.PaneProc{}, members(pids...)...))
		})
	}
	shellper := func(change ...func(*snapshot.Process)) snapshot.Process {
		return proc(10, 1, 10, append(change, func(p *snapshot.Process) { p.StartedAt = &at })...)
	}
	for _, c := range []struct {
		name      string
		terminal  snapshot.Terminal
		processes []snapshot.Process
		want      snapshot.Terminal
	}{
		{"nothing below", bare, []snapshot.Process{shellper(), proc(1, 0, 1), proc(99, 1, 99)}, below()},
		{"an agent that leads a session, and what that started", bare,
			[]snapshot.Process{shellper(), proc(20, 10, 20), proc(21, 20, 20), proc(22, 21, 22), proc(99, 1, 99)}, below(20, 21, 22)},
		{"what lost its parent", bare, []snapshot.Process{shellper(), proc(11, 1, 10), proc(12, 11, 12), proc(20, 10, 20), proc(21, 1, 20),
			proc(30, 1, 99, func(p *snapshot.Process) { p.PGID = new(10) })}, below(11, 12, 20, 21, 30)},
		{"a zombie does not count", bare, []snapshot.Process{shellper(), proc(11, 10, 10, func(p *snapshot.Process) { p.State = "Z" })}, below()},
		{"when it began is not known", bare, []snapshot.Process{proc(10, 1, 10)}, with(func(x *snapshot.Terminal) { x.Below = &[]snapshot.PaneProc{} })},
		{"a process does not show where it belongs", bare, []snapshot.Process{shellper(), proc(11, 10, 10, func(p *snapshot.Process) { p.PGID = nil })},
			with(func(x *snapshot.Terminal) { x.StartedAt = &at })},
		{"its pid is another's by now", bare, []snapshot.Process{shellper(func(p *snapshot.Process) { p.StartTicks++ })}, bare},
		{"its pid was reused while it was read", bare, []snapshot.Process{shellper(), proc(10, 1, 10, func(p *snapshot.Process) { p.StartTicks++ })}, bare},
		{"it has ended", bare, []snapshot.Process{proc(11, 10, 11)}, bare},
		{"a pid without a start", with(func(x *snapshot.Terminal) { x.StartTicks = nil }), []snapshot.Process{shellper()},
			with(func(x *snapshot.Terminal) { x.StartTicks = nil })},
		{"no pid", with(func(x *snapshot.Terminal) { x.PID = nil }), []snapshot.Process{shellper()}, with(func(x *snapshot.Terminal) { x.PID = nil })},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, status := range []string{snapshot.OK, snapshot.Failed, snapshot.Absent, ""} {
				s := world(snapshot.Pane{}, c.processes...)
				s.Sources[snapshot.Proc] = snapshot.Source{Status: status}
				s.Terminals = map[string]snapshot.Terminal{"t": c.terminal}
				want := c.terminal
				if status == snapshot.OK {
					want = c.want
				}
				Fill(s)
				must.Equal(t, want, s.Terminals["t"], "with processes that are %q", status)
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
			s.Processes[fmt.Sprintf("process:%d@%d", p.PID, p.StartTicks)] = &p
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
