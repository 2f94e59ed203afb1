package subject

import (
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// hosted is a machine with one tmux session in whose pane a shell waits that carries markers.
func hosted(markers map[string]string) *snapshot.Snapshot {
	made, now := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC), time.Date(2026, 1, 31, 18, 0, 0, 0, time.UTC)
	process := func(pid, parent int, name string, env map[string]string) snapshot.Process {
		return snapshot.Process{PID: pid, StartTicks: uint64(pid), PPID: &parent, Name: name, Exe: new("/bin/" + name), UID: new(1000), State: "S",
			Cwd: new("/w/acme"), Session: &pid, Markers: &env}
	}
	server := process(500, 1, "tmux: server", map[string]string{"CLAUDE_CODE_SESSION_ID": "outer"})
	shell := process(812, 500, "zsh", markers)
	return &snapshot.Snapshot{
		TakenAt: now, Host: snapshot.Host{UID: new(1000)},
		Sources: map[string]snapshot.Source{snapshot.Proc: {Kind: "processes", Status: snapshot.OK}, "tmux/default": {Kind: "tmux", Status: snapshot.OK}},
		Sessions: map[string]snapshot.Session{"session:tmux/default/$4": {
			Source: "tmux/default", ID: "$4", CreatedAt: &made, Server: &snapshot.Server{PID: 500, StartTicks: new(uint64(500))},
			Panes: []snapshot.Pane{{ID: "%5", ShellPID: new(812), SessionPIDs: []int{812}, Session: []snapshot.PaneProc{{PID: 812, Name: "zsh"}}, StartedAs: new("")}},
		}},
		Dirs:      map[string]snapshot.Dir{"dir:/w/acme": {Path: "/w/acme", Git: &snapshot.Git{Worktree: new(true)}}},
		Processes: map[string]*snapshot.Process{"process:500@500": &server, "process:812@812": &shell},
	}
}

func TestShellsSayWhoBeganThem(t *testing.T) {
	const id = "session:tmux/default/$4"
	config := &Config{Agents: []string{"claude"}, Multiplexers: []string{"tmux: server"},
		Markers: Markers{{Name: "CLAUDE_CODE_SESSION_ID", Value: MarkerSession, Agent: "claude"}, {Name: "CLAUDECODE", Value: MarkerFlag, Agent: "claude"}}}
	for name, tc := range map[string]struct {
		markers map[string]string
		want    []string
	}{
		"a session of its own":         {map[string]string{"CLAUDE_CODE_SESSION_ID": "inner"}, []string{"CLAUDE_CODE_SESSION_ID"}},
		"what the server handed down":  {map[string]string{"CLAUDE_CODE_SESSION_ID": "outer"}, []string{}},
		"a flag, which an editor sets": {map[string]string{"CLAUDECODE": "1"}, []string{}},
		"nothing":                      {map[string]string{}, []string{}},
	} {
		sub, _ := Join(hosted(tc.markers), config).Subject(id)
		if len(sub.Shells) != 1 {
			t.Fatalf("%s: shells %+v", name, sub.Shells)
		}
		must.Equal(t, &tc.want, sub.Shells[0].Markers, "%s: the markers that tell", name)
	}
	outer := map[string]string{"CLAUDE_CODE_SESSION_ID": "outer"}
	for name, tc := range map[string]struct {
		id   string
		late time.Duration
		want []string
	}{
		"the session that the server began with": {"$0", time.Second, []string{"CLAUDE_CODE_SESSION_ID"}},
		"one that was made later":                {"$0", 2 * time.Second, []string{}},
		"another session of that moment":         {"$1", 0, []string{}},
	} {
		s := hosted(outer)
		session := s.Sessions[id]
		session.ID, session.Server.StartedAt = tc.id, new(session.CreatedAt.Add(-tc.late))
		s.Sessions[id] = session
		sub, _ := Join(s, config).Subject(id)
		must.Equal(t, &tc.want, sub.Shells[0].Markers, "%s: the markers that tell", name)
		session.Server.StartedAt = nil
		sub, _ = Join(s, config).Subject(id)
		must.Equal(t, &[]string{}, sub.Shells[0].Markers, "%s: not known when the server began", name)
	}
}
