package subject_test

import (
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// vendors is a configuration with two vendors: one names pids and sessions, the other one sessions.
func vendors() *subject.Config {
	c := config()
	c.Agents = []string{"claude", "codex"}
	c.IDMarkers = []string{"AGENT_SESSION"}
	c.Markers = subject.Markers{
		{Name: "C_PID", Value: subject.MarkerPID, Agent: "claude"}, {Name: "C_SESSION", Value: subject.MarkerSession, Agent: "claude"},
		{Name: "X_THREAD", Value: subject.MarkerSession, Agent: "codex"}, {Name: "C_FLAG", Value: subject.MarkerFlag, Agent: "claude"},
	}
	return c
}

// TestWhichAgentsMayHaveStartedIt: an older agent may have, unless something says positively that it did not.
func TestWhichAgentsMayHaveStartedIt(t *testing.T) {
	t.Parallel()
	type world struct {
		agent    string
		has      *map[string]string
		left     *map[string]string
		records  []snapshot.OpenSession
		descents []snapshot.Ancestry
		change   func(agent, left *snapshot.Process)
	}
	boot := func(agents ...snapshot.AncestryAgent) []snapshot.Ancestry {
		return []snapshot.Ancestry{{BootID: "boot", PID: 9, StartTicks: 900, Agents: agents, LastAt: now}}
	}
	record := func(pid int, id string, ticks uint64, written int) snapshot.OpenSession {
		return snapshot.OpenSession{Agent: "claude", ID: id, PID: pid, StartTicks: &ticks, WrittenAt: ago(written), Sole: new(true)}
	}
	for name, c := range map[string]struct {
		world
		agents int
	}{
		"nothing is known":                              {world{agent: "claude", has: carries(), left: carries("C_FLAG", "1")}, 1},
		"a pid that is another one's":                   {world{agent: "claude", has: carries(), left: carries("C_PID", "66", "C_SESSION", "s")}, 0},
		"a pid that the agent was handed":               {world{agent: "claude", has: carries("C_PID", "66"), left: carries("C_PID", "66")}, 1},
		"a pid, and what the agent carries is unknown":  {world{agent: "claude", left: carries("C_PID", "66")}, 1},
		"a pid that a multiplexer may have handed down": {world{agent: "claude", has: carries(), left: carries("C_PID", "66", "TMUX", "/t,77,0")}, 1},
		"a session of the same vendor":                  {world{agent: "claude", has: carries(), left: carries("C_SESSION", "s")}, 1},
		"a session of another vendor":                   {world{agent: "codex", has: carries(), left: carries("C_SESSION", "s")}, 0},
		"a session of another vendor that it carries":   {world{agent: "codex", has: carries("C_SESSION", "s"), left: carries("C_SESSION", "s")}, 1},
		"sessions of both":                              {world{agent: "codex", has: carries(), left: carries("C_SESSION", "s", "X_THREAD", "t")}, 1},
		"an agent of no known vendor": {world{agent: "codex", has: carries(), left: carries("C_SESSION", "s"), change: func(a, _ *snapshot.Process) {
			a.Name, a.Exe = "2.1.0", new("/home/u/.local/share/claude/versions/2.1.0")
		}}, 1},
		"it had another session open before": {world{agent: "claude", has: carries(), left: carries("C_SESSION", "s"), records: []snapshot.OpenSession{record(5, "other", 500, 300)}}, 0},
		"it has had another session since":   {world{agent: "claude", has: carries(), left: carries("C_SESSION", "s"), records: []snapshot.OpenSession{record(5, "other", 500, 10)}}, 1},
		"it has that session open":           {world{agent: "claude", has: carries(), left: carries("C_SESSION", "s"), records: []snapshot.OpenSession{record(5, "s", 500, 300)}}, 1},
		"an older process had the session": {world{agent: "claude", has: carries(), left: carries("C_SESSION", "s"),
			records: []snapshot.OpenSession{record(5, "other", 500, 10), record(6, "s", 600, 200)}}, 0},
		"a younger process had the session": {world{agent: "claude", has: carries(), left: carries("C_SESSION", "s"),
			records: []snapshot.OpenSession{record(5, "other", 500, 10), record(6, "s", 950, 5)}}, 1},
		"looks saw it below another agent": {world{agent: "claude", has: carries(), left: carries("C_FLAG", "1"), descents: boot(snapshot.AncestryAgent{PID: 66, StartTicks: 6, Name: "codex"})}, 0},
		"looks saw it below this agent":    {world{agent: "claude", has: carries(), left: carries("C_PID", "66"), descents: boot(snapshot.AncestryAgent{PID: 5, StartTicks: 500, Name: "claude"})}, 1},
		"looks saw another process":        {world{agent: "claude", has: carries(), left: carries("C_FLAG", "1"), descents: []snapshot.Ancestry{{BootID: "boot", PID: 9, StartTicks: 800, Agents: []snapshot.AncestryAgent{{PID: 66, StartTicks: 6}}}}}, 1},
		"looks of another boot":            {world{agent: "claude", has: carries(), left: carries("C_FLAG", "1"), descents: []snapshot.Ancestry{{BootID: "before", PID: 9, StartTicks: 900, Agents: []snapshot.AncestryAgent{{PID: 66, StartTicks: 6}}}}}, 1},
		"the marker was set in a pane that it is not in": {world{agent: "claude", has: carries(), left: carries("C_FLAG", "1"), change: func(a, l *snapshot.Process) {
			a.Session, l.Session = new(4), new(3)
		}}, 0},
		"the marker was set in a session that it may have left": {world{agent: "claude", has: carries(), left: carries("C_FLAG", "1"), change: func(a, l *snapshot.Process) {
			a.Session, l.Session = new(5), new(3)
		}}, 1},
		"the marker was set in its own session": {world{agent: "claude", has: carries(), left: carries("C_FLAG", "1"), change: func(a, l *snapshot.Process) {
			a.Session, l.Session = new(3), new(3)
		}}, 1},
	} {
		shell, other, agent, left := quiet(3, 1, "bash"), quiet(4, 1, "bash"), quiet(5, 4, c.agent), quiet(9, 1, "sleep")
		shell.StartTicks, other.StartTicks, agent.StartTicks, left.StartTicks = 300, 400, 500, 900
		shell.Session, other.Session = new(3), new(4)
		left.StartedAt = ago(100)
		agent.Markers, left.Markers = c.has, c.left
		if c.change != nil {
			c.change(&agent, &left)
		}
		s := table(quiet(1, 0, "systemd"), shell, other, agent, left)
		s.Host.BootID, s.Host.OrphanParents, s.OpenSessions, s.Ancestries = "boot", []int{1}, c.records, c.descents
		sub, _ := subject.Join(s, vendors()).Subject("process:9")
		if sub.Lineage.Agents == nil {
			t.Fatalf("%s: unknown", name)
		}
		same(t, name, c.agents, *sub.Lineage.Agents)
		same(t, name+": the others", 1-c.agents, *sub.Lineage.Cleared)
	}
}

func TestAncestriesAreRememberedWhileTheProcessLives(t *testing.T) {
	t.Parallel()
	boot := func(s *snapshot.Snapshot) *snapshot.Snapshot {
		s.Host.BootID, s.Host.UID = "boot", new(1000)
		for id := range s.Processes {
			alterProcess(s, id, func(p *snapshot.Process) { p.UID = new(1000) })
		}
		return s
	}
	claude := snapshot.AncestryAgent{PID: 5, StartTicks: 2, Name: "claude"}
	first := subject.Ancestries(boot(table(quiet(1, 0, "systemd"), quiet(5, 1, "claude"), quiet(6, 5, "bash"), quiet(7, 6, "sleep"), quiet(8, 1, "sleep"))), config(), nil)
	want := []snapshot.Ancestry{
		{BootID: "boot", PID: 6, StartTicks: 3, Agents: []snapshot.AncestryAgent{claude}, LastAt: now},
		{BootID: "boot", PID: 7, StartTicks: 4, Agents: []snapshot.AncestryAgent{claude}, LastAt: now},
	}
	same(t, "what is below an agent", want, first)

	left := quiet(7, 1, "sleep")
	left.StartTicks = 4
	after := boot(table(quiet(1, 0, "systemd"), left))
	same(t, "what was handed over", want[1:], subject.Ancestries(after, config(), first))
	after.Ancestries = first
	sub, _ := subject.Join(after, config()).Subject("process:7")
	same(t, "its agent", []subject.Seen{{PID: 5, StartTicks: 2, Name: "claude", Gone: new(true)}}, sub.Lineage.Seen)
	same(t, "which is gone", new(true), sub.Lineage.SeenGone)
	same(t, "whom it counts under", "5", sub.Owner)

	younger := left
	younger.StartTicks = 40
	same(t, "another process with the number", []snapshot.Ancestry{}, subject.Ancestries(boot(table(quiet(1, 0, "systemd"), younger)), config(), first))
	other := boot(table(quiet(1, 0, "systemd"), left))
	other.Host.BootID = "next"
	same(t, "another boot", []snapshot.Ancestry{}, subject.Ancestries(other, config(), first))
	failed := boot(table(quiet(1, 0, "systemd")))
	failed.Sources["proc"] = snapshot.Source{Status: "failed"}
	same(t, "a table that was not read whole", first, subject.Ancestries(failed, config(), first))
	failed.Host.BootID = ""
	same(t, "an unknown boot", first, subject.Ancestries(failed, config(), first))
}

func TestServedIsOfTheWholeTree(t *testing.T) {
	t.Parallel()
	server := quiet(3, 2, "node")
	server.Listening, server.Clients = &[]int{5173}, new(2)
	s := table(quiet(1, 0, "systemd"), quiet(2, 1, "sh"), server)
	l := lineage(t, s, 2)
	same(t, "ports", &[]int{5173}, l.Ports)
	same(t, "clients", new(2), l.Clients)
	alterProcess(s, "process:3", func(p *snapshot.Process) { p.Clients = nil })
	same(t, "clients that are not known", (*int)(nil), lineage(t, s, 2).Clients)
	alterProcess(s, "process:3", func(p *snapshot.Process) { p.Listening = nil })
	same(t, "ports that are not known", (*[]int)(nil), lineage(t, s, 2).Ports)
}

// TestAThreadThatAKilledAgentHadOpen: a record that was left behind says which agent did not start a process: every living one.
func TestAThreadThatAKilledAgentHadOpen(t *testing.T) {
	t.Parallel()
	began := now.Add(-time.Hour)
	left := func(change func(*snapshot.OpenSession)) snapshot.OpenSession {
		s := snapshot.OpenSession{ID: "thread-9", WrittenAt: new(began.Add(-time.Minute)), Ended: new(true)}
		if change != nil {
			change(&s)
		}
		return s
	}
	living := snapshot.OpenSession{Agent: "codex", ID: "thread-1", PID: 5, WrittenAt: new(began.Add(-time.Minute))}
	for name, c := range map[string]struct {
		open   []snapshot.OpenSession
		agents int
	}{
		"it was killed":                            {[]snapshot.OpenSession{left(nil), living}, 0},
		"nothing was left":                         {[]snapshot.OpenSession{living}, 1},
		"the living agent shows no thread":         {[]snapshot.OpenSession{left(nil)}, 1},
		"the living agent has that thread too":     {[]snapshot.OpenSession{left(nil), living, {Agent: "codex", ID: "thread-9", PID: 5, WrittenAt: &began}}, 1},
		"another process has that thread":          {[]snapshot.OpenSession{left(func(s *snapshot.OpenSession) { s.Ended, s.PID = nil, 6 }), living}, 1},
		"whether it has ended is not known":        {[]snapshot.OpenSession{left(func(s *snapshot.OpenSession) { s.Ended = nil }), living}, 1},
		"it was opened after the process began":    {[]snapshot.OpenSession{left(func(s *snapshot.OpenSession) { s.WrittenAt = new(began.Add(time.Minute)) }), living}, 1},
		"it was opened as the process began":       {[]snapshot.OpenSession{left(func(s *snapshot.OpenSession) { s.WrittenAt = &began }), living}, 1},
		"when it was opened is not known":          {[]snapshot.OpenSession{left(func(s *snapshot.OpenSession) { s.WrittenAt = nil }), living}, 1},
		"a thread of the living agent that closed": {[]snapshot.OpenSession{living}, 1},
	} {
		codex, stray := quiet(5, 1, "codex"), quiet(7, 1, "sleep")
		codex.StartTicks, stray.StartTicks, stray.StartedAt = 20, 100, &began
		codex.Exe, stray.Markers = new("/opt/versions/codex"), carries("THREAD", "thread-9")
		s := table(quiet(1, 0, "systemd"), codex, stray)
		s.OpenSessions = c.open
		conf := config()
		conf.Agents = append(conf.Agents, "codex")
		sub, ok := subject.Join(s, conf).Subject("process:7")
		if !ok {
			t.Fatal("no subject")
		}
		same(t, name, &c.agents, sub.Lineage.Agents)
	}
}
