package subject_test

import (
	"testing"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// paneTable is a pane %5 of tmux server 50 with shell 60, beside other processes.
func paneTable(pane snapshot.Pane, ps ...snapshot.Process) *snapshot.Snapshot {
	shell := quiet(60, 50, "zsh")
	shell.Session = new(60)
	s := table(append([]snapshot.Process{quiet(1, 0, "systemd"), quiet(50, 1, "tmux: server"), shell}, ps...)...)
	pane.ID, pane.ShellPID = "%5", new(60)
	s.Sessions["session:tmux/default/$1"] = snapshot.Session{Source: "tmux/default", ID: "$1", Server: &snapshot.Server{PID: 50}, Panes: []snapshot.Pane{pane}}
	return s
}

func TestMembersAreWhoElseBelongsToAPane(t *testing.T) {
	t.Parallel()
	mcp := quiet(61, 1, "node")
	mcp.Session, mcp.Markers, mcp.StartedAt, mcp.CPU = new(60), carries("TMUX", "/s,50,0", "CLAUDECODE", "1"), ago(100), new(50.0)
	nested := quiet(70, 1, "tmux: server")
	inner := quiet(71, 70, "make")
	s := paneTable(snapshot.Pane{
		SessionPIDs: []int{60, 61}, Session: []snapshot.PaneProc{{PID: 60, Name: "zsh"}, {PID: 61, Name: "node"}},
		Carriers: []snapshot.PaneProc{{PID: 70, Name: "tmux: server"}, {PID: 71, Name: "make"}, {PID: 99, Name: "gone"}},
	}, mcp, nested, inner)
	type member struct {
		pid    int
		how    string
		server int
	}
	var got []member
	sub := of(t, s, "session:tmux/default/$1")
	for _, m := range sub.Members {
		if m.Pane != "%5" || m.Process.PID != m.PID || m.Process.Name != m.Name || m.Lineage == nil || m.Server == nil {
			t.Fatalf("not whole: %+v", m)
		}
		got = append(got, member{m.PID, m.How, *m.Server})
	}
	want := []member{{61, subject.InSession, 0}, {70, subject.Elsewhere, 0}, {71, subject.Elsewhere, 70}}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("want %+v, got %+v", want, got)
	}
	same(t, "what the shell did not hand down", &[]string{"CLAUDECODE"}, sub.Members[0].Lineage.Added)
	same(t, "busy", new(subject.Processors(0.5)), sub.Members[0].Busy)
}

func TestTooManyMembersAreNotTold(t *testing.T) {
	t.Parallel()
	var pane snapshot.Pane
	var ps []snapshot.Process
	for pid := 100; pid < 164; pid++ {
		ps = append(ps, quiet(pid, 60, "make"))
		pane.Carriers = append(pane.Carriers, snapshot.PaneProc{PID: pid, Name: "make"})
	}
	if n := len(of(t, paneTable(pane, ps...), "session:tmux/default/$1").Members); n != 64 {
		t.Errorf("%d of 64 are listed", n)
	}
	pane.Session = []snapshot.PaneProc{{PID: 1, Name: "systemd"}}
	if got := of(t, paneTable(pane, ps...), "session:tmux/default/$1").Members; got != nil {
		t.Errorf("%d of 65 are listed", len(got))
	}
}

func TestMarkersThatWereAdded(t *testing.T) {
	t.Parallel()
	of := func(sid int, markers *map[string]string) snapshot.Process {
		p := quiet(61, 1, "node")
		p.Session, p.Markers = &sid, markers
		return p
	}
	leader := func(change func(*snapshot.Process)) snapshot.Process {
		p := quiet(60, 1, "zsh")
		p.Session, p.Markers = new(60), carries("AGENT_SESSION", "a")
		change(&p)
		return p
	}
	plain := leader(func(*snapshot.Process) {})
	for name, c := range map[string]struct {
		leader, process snapshot.Process
		want            *[]string
	}{
		"one more":                      {plain, of(60, carries("AGENT_SESSION", "a", "CLAUDECODE", "1")), &[]string{"CLAUDECODE"}},
		"another value":                 {plain, of(60, carries("AGENT_SESSION", "b")), &[]string{"AGENT_SESSION"}},
		"all of them handed down":       {plain, of(60, carries("AGENT_SESSION", "a", "TMUX_PANE", "%5")), &[]string{}},
		"it leads the session itself":   {plain, of(61, carries("CLAUDECODE", "1")), nil},
		"no such leader":                {plain, of(59, carries("CLAUDECODE", "1")), nil},
		"an environment that is hidden": {plain, of(60, nil), nil},
		"a leader that hides its own":   {leader(func(p *snapshot.Process) { p.Markers = nil }), of(60, carries("CLAUDECODE", "1")), nil},
		"a leader that has ended":       {leader(func(p *snapshot.Process) { p.State = "X" }), of(60, carries("CLAUDECODE", "1")), nil},
		"a leader that is younger":      {leader(func(p *snapshot.Process) { p.StartTicks = 100 }), of(60, carries("CLAUDECODE", "1")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, "added", c.want, lineage(t, table(c.leader, c.process), 61).Added)
		})
	}
}

// TestThePaneOfAProcessIsNoAgentsMarker holds for a configuration that was written before the ids of panes were read.
func TestThePaneOfAProcessIsNoAgentsMarker(t *testing.T) {
	t.Parallel()
	server := quiet(50, 1, "tmux: server")
	p := quiet(60, 1, "node")
	p.Markers = carries("TMUX", "/s,50,0", "TMUX_PANE", "%5", "HERDR_PANE_ID", "w1:p1", "HERDR_SOCKET_PATH", "/h", "CLAUDECODE", "1")
	l := lineage(t, table(server, p), 60)
	same(t, "markers", &[]string{"CLAUDECODE"}, l.Markers)
	same(t, "by an unknown herdr", (*bool)(nil), l.MultiplexerMarked)
	p.Markers = carries("TMUX", "/s,50,0", "TMUX_PANE", "%5", "CLAUDECODE", "1")
	same(t, "the server does not carry it", new(false), lineage(t, table(server, p), 60).MultiplexerMarked)
	p.Markers = carries("TMUX_PANE", "%5", "CLAUDECODE", "1")
	same(t, "a pane without its server", (*bool)(nil), lineage(t, table(server, p), 60).MultiplexerMarked)
}
