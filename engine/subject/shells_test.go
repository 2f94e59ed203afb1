package subject

import (
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/testkit/must"
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
		if len(sub.Shells) != 1 || sub.Shells[0].AgentDir == nil || *sub.Shells[0].AgentDir != "/w/acme" {
			t.Fatalf("%s: shells %+v", name, sub.Shells)
		}
		must.Equal(t, &tc.want, sub.Shells[0].Markers, "%s: the markers that tell", name)
	}
}

func TestAgentSessionsAreRemembered(t *testing.T) {
	const id = "session:tmux/default/$4"
	config := &Config{Agents: []string{"claude"}}
	s := hosted(nil)
	s.Processes["process:812@812"].Name = "claude"
	seen := Join(s, config).AgentSessions()
	if len(seen) != 1 || seen[0].ID != id || seen[0].Agent != "zsh" && seen[0].Agent != "claude" {
		t.Fatalf("an agent in a pane is remembered as %+v", seen)
	}

	later := hosted(nil)
	later.AgentSessions = seen
	must.Equal(t, seen, Join(later, config).AgentSessions(), "the agent has ended, the session lives")
	sub, _ := Join(later, config).Subject(id)
	must.Equal(t, seen[0].Agent, sub.Shells[0].SeenAgent, "the agent that was seen")

	another := hosted(nil)
	another.AgentSessions = seen
	one := another.Sessions[id]
	one.CreatedAt = new(one.CreatedAt.Add(time.Hour))
	another.Sessions[id] = one
	must.Equal(t, 0, len(Join(another, config).AgentSessions()), "another session has the id")
	sub, _ = Join(another, config).Subject(id)
	must.Equal(t, "", sub.Shells[0].SeenAgent, "an agent that was seen in another session of that id")

	away := hosted(nil)
	away.AgentSessions = seen
	delete(away.Sessions, id)
	must.Equal(t, 0, len(Join(away, config).AgentSessions()), "the session is gone")
	away.Sources["tmux/default"] = snapshot.Source{Kind: "tmux", Status: snapshot.Failed}
	must.Equal(t, seen, Join(away, config).AgentSessions(), "the server could not be read")
}
