package panes

import (
	"testing"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// carrying gives a process an environment: names and values by turns.
func carrying(pairs ...string) func(*snapshot.Process) {
	return func(p *snapshot.Process) {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		p.Markers = &m
	}
}

func inPane(pane string) func(*snapshot.Process) {
	return carrying("TMUX", "/tmp/tmux-7/default,5,0", "TMUX_PANE", pane)
}

func TestFillFindsWhoCarriesAPane(t *testing.T) {
	t.Parallel()
	shell := proc(10, 5, 10, inPane("%1"))
	for name, c := range map[string]struct {
		processes []snapshot.Process
		want      []snapshot.PaneProc
	}{
		"a child that called setsid and whose parent ended": {[]snapshot.Process{shell, proc(20, 1, 20, inPane("%1"))}, members(20)},
		"what that one started":                             {[]snapshot.Process{shell, proc(20, 1, 20, inPane("%1")), proc(21, 20, 20, inPane("%1"))}, members(20, 21)},
		"members and descendants are known already":         {[]snapshot.Process{shell, proc(11, 10, 10, inPane("%1")), proc(12, 10, 12, inPane("%1"))}, members()},
		"another pane": {[]snapshot.Process{shell, proc(20, 1, 20, inPane("%11"))}, members()},
		"a server of another life with the same pid": {[]snapshot.Process{shell, proc(3, 1, 3, inPane("%1"))}, members()},
		"another server": {[]snapshot.Process{shell, proc(20, 1, 20, carrying("TMUX", "/tmp/tmux-7/default,6,0", "TMUX_PANE", "%1"))}, members()},
		"the same server by another path, one with a comma": {[]snapshot.Process{shell, proc(20, 1, 20, carrying("TMUX", "/tmp/a,b,5,9", "TMUX_PANE", "%1"))}, members(20)},
		"a pane without its server":                         {[]snapshot.Process{shell, proc(20, 1, 20, carrying("TMUX_PANE", "%1"))}, members()},
		"a server without its pane":                         {[]snapshot.Process{shell, proc(20, 1, 20, carrying("TMUX", "/tmp/tmux-7/default,5,0"))}, members()},
		"what is no server":                                 {[]snapshot.Process{shell, proc(20, 1, 20, carrying("TMUX", "5", "TMUX_PANE", "%1"))}, members()},
		"one that has ended":                                {[]snapshot.Process{shell, proc(20, 1, 20, inPane("%1"), func(p *snapshot.Process) { p.State = "X" })}, members()},
		"not everybody shows where he belongs":              {[]snapshot.Process{shell, proc(20, 1, 20, inPane("%1")), proc(21, 1, 21, func(p *snapshot.Process) { p.Session = nil })}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := world(snapshot.Pane{ID: "%1", ShellPID: new(10), Dead: new(false)}, c.processes...)
			s.Sessions["s"] = snapshot.Session{Server: &snapshot.Server{PID: 5, StartTicks: new(uint64(1005))}, Panes: s.Sessions["s"].Panes}
			Fill(s)
			must.Equal(t, c.want, s.Sessions["s"].Panes[0].Carriers, "result")
		})
	}
}

func TestFillFindsWhoCarriesADeadPane(t *testing.T) {
	t.Parallel()
	s := world(snapshot.Pane{ID: "%1", ShellPID: new(10), Dead: new(true)}, proc(20, 1, 20, inPane("%1")))
	s.Sessions["s"] = snapshot.Session{Server: &snapshot.Server{PID: 5}, Panes: s.Sessions["s"].Panes}
	Fill(s)
	must.Equal(t, members(20), s.Sessions["s"].Panes[0].Carriers, "result")
}

func TestFillFindsWhoCarriesATab(t *testing.T) {
	t.Parallel()
	herdr := func(socket, pane string) func(*snapshot.Process) {
		return carrying("HERDR_SOCKET_PATH", socket, "HERDR_PANE_ID", pane)
	}
	old := func(p *snapshot.Process) { p.StartTicks = 900 }
	for name, c := range map[string]struct {
		shell     func(*snapshot.Process)
		processes []snapshot.Process
		want      []snapshot.PaneProc
	}{
		"by the pane's id":                        {herdr("/s", "w1:p1"), []snapshot.Process{proc(20, 1, 20, herdr("/s", "w1:p1"))}, members(20)},
		"a shell without an environment":          {mineToo, []snapshot.Process{proc(20, 1, 20, herdr("/s", "w1:p1"))}, members(20)},
		"by the id of before the pane was moved":  {herdr("/s", "w2:p7"), []snapshot.Process{proc(20, 1, 20, herdr("/s", "w2:p7"))}, members(20)},
		"by the socket's path that the shell has": {herdr("/link", "w1:p1"), []snapshot.Process{proc(20, 1, 20, herdr("/link", "w1:p1"))}, members(20)},
		"another pane":                            {herdr("/s", "w1:p1"), []snapshot.Process{proc(20, 1, 20, herdr("/s", "w1:p2"))}, members()},
		"another server":                          {herdr("/s", "w1:p1"), []snapshot.Process{proc(20, 1, 20, herdr("/t", "w1:p1"))}, members()},
		"the pane's own":                          {herdr("/s", "w1:p1"), []snapshot.Process{proc(11, 10, 10, herdr("/s", "w1:p1")), proc(12, 10, 12, herdr("/s", "w1:p1"))}, members()},
		"older than the server and the pane":      {herdr("/s", "w1:p1"), []snapshot.Process{proc(20, 1, 20, herdr("/s", "w1:p1"), old)}, members()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bare := snapshot.Pane{ID: "w1:p1", Terminal: "term_1", ShellPID: new(10), ForegroundPGID: new(10), Foreground: members(10)}
			s := tabWorld(bare, append(c.processes, proc(5, 1, 5), proc(10, 5, 10, mineToo, c.shell))...)
			Fill(s)
			p := s.Tabs["t"].Panes[0]
			if p.Error != nil && *p.Error != "" {
				t.Fatal(*p.Error)
			}
			must.Equal(t, c.want, p.Carriers, "result")
		})
	}
}
