package panes

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// popupWorld has a tmux server, pid 5, with a pane's shell, pid 10, in session $1, and the process beside it. Session $2 has none.
func popupWorld(beside ...snapshot.Process) *snapshot.Snapshot {
	server := snapshot.Server{Socket: "/s", PID: 5, StartTicks: new(uint64(1005))}
	listed := server
	listed.Panes = new([]int{10})
	s := world(snapshot.Pane{}, append(beside, proc(5, 1, 5, alone), proc(10, 5, 10))...)
	s.Sources["tmux/s"] = snapshot.Source{Kind: "tmux", Status: snapshot.OK, Server: &listed}
	s.Sessions = map[string]snapshot.Session{
		"one": {Source: "tmux/s", ID: "$1", Server: &server, Attached: new(0), ControlClients: new(0),
			Panes: []snapshot.Pane{{ID: "%1", ShellPID: new(10), TTY: "pts/1", Dead: new(false)}}},
		"two": {Source: "tmux/s", ID: "$2", Server: &server, Attached: new(0), ControlClients: new(0)},
	}
	return s
}

func alone(p *snapshot.Process) { p.TTY, p.ForegroundPGID = new(""), new(-1) }

func tmux(value string) func(*snapshot.Process) {
	return func(p *snapshot.Process) { p.Markers = &map[string]string{"TMUX": value} }
}

func TestPopups(t *testing.T) {
	t.Parallel()
	unread := func(p *snapshot.Process) { p.TTY = new("pts/9") }
	popup := func(value string) snapshot.Process { return proc(20, 5, 20, unread, tmux(value)) }
	none, it := []snapshot.PaneProc{}, members(20)
	attached := func(clients, control int) func(*snapshot.Snapshot) {
		return func(s *snapshot.Snapshot) {
			two := s.Sessions["two"]
			two.Attached, two.ControlClients = &clients, &control
			s.Sessions["two"] = two
		}
	}
	for _, c := range []struct {
		name     string
		beside   []snapshot.Process
		change   func(*snapshot.Snapshot)
		one, two []snapshot.PaneProc // nil is unknown
	}{
		{"nothing but panes", nil, nil, none, none},
		{"a popup of the session", []snapshot.Process{popup("/s,5,1")}, nil, it, none},
		{"what runs below a popup", []snapshot.Process{popup("/s,5,1"), proc(21, 20, 20), proc(22, 21, 22, alone)}, nil, members(20, 21, 22), none},
		{"what a popup started and left", []snapshot.Process{popup("/s,5,1"), proc(21, 1, 20)}, nil, members(20, 21), none},
		{"a popup on a client that shows another session now", []snapshot.Process{popup("/s,5,1")}, attached(1, 0), it, it},
		{"a popup of a session that is gone", []snapshot.Process{popup("/s,5,8")}, attached(1, 0), none, it},
		{"a popup of another session, and only control clients here", []snapshot.Process{popup("/s,5,1")}, attached(2, 2), it, none},
		{"a popup whose environment could not be read", []snapshot.Process{proc(20, 5, 20, unread)}, nil, it, it},
		{"a popup whose environment names no server", []snapshot.Process{popup("")}, nil, it, it},
		{"a popup whose environment names another server", []snapshot.Process{popup("/s,6,1")}, nil, it, it},
		{"a popup that may have a terminal", []snapshot.Process{proc(20, 5, 20, tmux("/s,5,8"), func(p *snapshot.Process) { p.TTY = nil })}, attached(1, 0), none, it},
		{"a session whose clients are not known", []snapshot.Process{popup("/s,5,1")}, func(s *snapshot.Snapshot) {
			two := s.Sessions["two"]
			two.ControlClients = nil
			s.Sessions["two"] = two
		}, it, it},
		{"a job of the session", []snapshot.Process{proc(20, 5, 5, alone, tmux("/s,5,1"))}, attached(1, 0), it, none},
		{"what a status line runs", []snapshot.Process{proc(20, 5, 5, alone, tmux("/s,5,-1"))}, attached(1, 0), none, none},
		{"a pane's pipe", []snapshot.Process{proc(20, 5, 5, alone, tmux(""))}, attached(1, 0), none, none},
		{"a job whose environment could not be read", []snapshot.Process{proc(20, 5, 5, alone)}, attached(1, 0), none, none},
		{"another process's child", []snapshot.Process{proc(20, 6, 20, unread, tmux("/s,5,1"))}, nil, none, none},
		{"a popup that has ended", []snapshot.Process{proc(20, 5, 20, unread, tmux("/s,5,1"), func(p *snapshot.Process) { p.State = "Z" })}, nil, none, none},
		{"a process that does not show where it belongs", []snapshot.Process{proc(30, 1, 30, func(p *snapshot.Process) { p.PPID = nil })}, nil, nil, nil},
		{"another process under the server's pid", nil, func(s *snapshot.Snapshot) { s.Sources["tmux/s"].Server.StartTicks = new(uint64(4)) }, nil, nil},
		{"a server in another pid namespace", nil, func(s *snapshot.Snapshot) { s.Sources["tmux/s"].Server.StartTicks = nil }, nil, nil},
		{"a server whose panes were not listed", nil, func(s *snapshot.Snapshot) { s.Sources["tmux/s"].Server.Panes = nil }, nil, nil},
		{"a source that was not read whole", nil, func(s *snapshot.Snapshot) {
			src := s.Sources["tmux/s"]
			src.Status = snapshot.Failed
			s.Sources["tmux/s"] = src
		}, nil, nil},
		{"processes that were not read whole", nil, func(s *snapshot.Snapshot) { s.Sources[snapshot.Proc] = snapshot.Source{Status: snapshot.Failed} }, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := popupWorld(c.beside...)
			if c.change != nil {
				c.change(s)
			}
			Fill(s)
			for id, want := range map[string][]snapshot.PaneProc{"one": c.one, "two": c.two} {
				got := s.Sessions[id].Popups
				if (got == nil) != (want == nil) || got != nil && cmp.Diff(want, *got) != "" {
					t.Errorf("popups of session %s: %v, want %v", id, got, want)
				}
			}
		})
	}
}

// A look at one session sees no other, and does not take the panes of others for popups.
func TestPopupsOfOneSession(t *testing.T) {
	t.Parallel()
	s := popupWorld(proc(20, 5, 20, func(p *snapshot.Process) { p.TTY = new("pts/9") }, tmux("/s,5,2")))
	delete(s.Sessions, "one")
	s.Sources["tmux/s"].Server.Panes = new([]int{10, 20})
	Fill(s)
	if got := s.Sessions["two"].Popups; got == nil || len(*got) > 0 {
		t.Errorf("popups %v, want none", got)
	}
}
