package subject_test

import (
	"testing"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

func recognising(s *snapshot.Snapshot) *subject.Index {
	cfg := config()
	cfg.Agents = []string{"claude", "cursor-agent", "a-very-long-name"}
	cfg.AgentScripts, cfg.AgentPackages = []string{"gemini"}, []string{"@google/gemini-cli"}
	cfg.AgentDaemons = []subject.AgentDaemon{{Name: "shared", Programs: []string{"codex"}, Args: []string{"serve"}}}
	cfg.Interpreters = []string{"node", "MainThread", "bun", "python3*"}
	return subject.Join(s, cfg)
}

// TestWhatAnAgentIsKnownBy: nil is not known.
func TestWhatAnAgentIsKnownBy(t *testing.T) {
	t.Parallel()
	yes, no := new(true), new(false)
	for name, c := range map[string]struct {
		comm, exe    string
		script, pack *string
		daemon       *string
		want         *bool
	}{
		"its name":                         {comm: "claude", want: yes},
		"its name with exe behind":         {comm: "claude.exe", want: yes},
		"its file with exe behind":         {comm: "x", exe: "/opt/claude.exe", want: yes},
		"another name with exe behind":     {comm: "clod.exe", exe: "/opt/clod.exe", want: no},
		"a long name":                      {comm: "a-very-long-nam", exe: "/opt/a", want: yes},
		"a name that is cut in its exe":    {comm: "cursor-agent.ex", exe: "/opt/a", want: yes},
		"a version":                        {comm: "2.1.330", exe: "/home/u/.local/share/claude/versions/2.1.330", want: yes},
		"a file in a version":              {comm: "node", exe: "/home/u/.local/share/cursor-agent/versions/2026.07.01/node", want: yes},
		"a file deeper in a version":       {comm: "rg", exe: "/home/u/.local/share/claude/versions/2/vendor/rg", want: no},
		"a script":                         {comm: "node", script: new("gemini"), pack: new(""), want: yes},
		"a script's file":                  {comm: "python3.12", script: new("gemini.py"), pack: new(""), want: yes},
		"a script of another kind":         {comm: "node", script: new("gemini.txt"), pack: new(""), want: no},
		"a package":                        {comm: "bun", exe: "/x/bun.exe", script: new("index.js"), pack: new("@google/gemini-cli"), want: yes},
		"another package":                  {comm: "node", script: new("index.js"), pack: new("@google/gemini-cli-core"), want: no},
		"nothing":                          {comm: "node", script: new(""), pack: new(""), want: no},
		"a script that is not known":       {comm: "node", pack: new("")},
		"a package that is not known":      {comm: "MainThread", exe: "/usr/bin/node", script: new("index.js")},
		"a title":                          {comm: "npm run dev", exe: "/usr/bin/node", want: no},
		"a program that is no interpreter": {comm: "MainThread", exe: "/opt/tool", want: no},
		"a daemon":                         {comm: "codex", daemon: new("shared"), want: yes},
		"a daemon's program":               {comm: "codex", daemon: new(""), want: yes},
		"a daemon's program, nothing else": {comm: "codex", want: yes},
		"a daemon of an ordinary program":  {comm: "x", daemon: new("shared"), want: yes},
	} {
		p := quiet(10, 1, c.comm)
		p.Script, p.Package, p.Daemon = c.script, c.pack, c.daemon
		if c.exe != "" {
			p.Exe = &c.exe
		}
		sub, _ := recognising(table(quiet(1, 0, "systemd"), p)).Subject("process:10")
		if got := sub.Lineage.IsAgent; (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: agent %v, want %v", name, deref(got), deref(c.want))
		}
	}
}

// TestADaemonIsAnAgentAtWorkByWhatLivesBelowIt counts for a process that an agent may have started.
func TestADaemonIsAnAgentAtWorkByWhatLivesBelowIt(t *testing.T) {
	t.Parallel()
	daemon := func(pid, parent int) snapshot.Process {
		p := quiet(pid, parent, "codex")
		p.Daemon = new("shared")
		return p
	}
	zombie := quiet(12, 10, "bash")
	zombie.State, zombie.Threads = "Z", new(1)
	parentless := quiet(12, 0, "bash")
	parentless.PPID = nil
	for name, c := range map[string]struct {
		beside []snapshot.Process
		want   int
	}{
		"alone":                           {[]snapshot.Process{daemon(10, 1)}, 0},
		"with another below it":           {[]snapshot.Process{daemon(10, 1), daemon(11, 10)}, 0},
		"with a tool below it":            {[]snapshot.Process{daemon(10, 1), quiet(11, 10, "bash")}, 1},
		"with a tool below another":       {[]snapshot.Process{daemon(10, 1), daemon(11, 10), quiet(12, 11, "bash")}, 2},
		"with what has ended below it":    {[]snapshot.Process{daemon(10, 1), zombie}, 0},
		"with one whose parent is hidden": {[]snapshot.Process{daemon(10, 1), parentless}, 1},
	} {
		left := quiet(20, 1, "sleep")
		sub, _ := recognising(table(append(append([]snapshot.Process{quiet(1, 0, "systemd")}, c.beside...), left)...)).Subject("process:20")
		if sub.Lineage.Agents == nil || *sub.Lineage.Agents != c.want {
			t.Errorf("%s: %v agents, want %d", name, deref(sub.Lineage.Agents), c.want)
		}
	}
}

// TestADaemonIsAboveAndBelowAsAnAgentIs, in every state.
func TestADaemonIsAboveAndBelowAsAnAgentIs(t *testing.T) {
	t.Parallel()
	d := quiet(11, 10, "codex")
	d.Daemon = new("shared")
	j := recognising(table(quiet(1, 0, "systemd"), quiet(10, 1, "bash"), d, quiet(12, 11, "bash")))
	top, _ := j.Subject("process:10")
	tool, _ := j.Subject("process:12")
	if b, a := top.Lineage.AgentBelow, tool.Lineage.AgentAncestor; b == nil || !*b || a == nil || !*a {
		t.Errorf("below: %v, above: %v", deref(b), deref(a))
	}
}

// TestWhatAnInterpreterRunsAndIsNotKnownMayBeAnAgent for what was started after it, and for what it is above and below of.
func TestWhatAnInterpreterRunsAndIsNotKnownMayBeAnAgent(t *testing.T) {
	t.Parallel()
	j := recognising(table(quiet(1, 0, "systemd"), quiet(9, 1, "sleep"), quiet(10, 1, "bash"), quiet(11, 10, "node"), quiet(12, 11, "bash"), quiet(20, 1, "sleep")))
	of := func(pid string) *subject.Lineage { s, _ := j.Subject("process:" + pid); return s.Lineage }
	if l := of("9"); l.Agents == nil || *l.Agents != 0 {
		t.Errorf("before it: %v", deref(l.Agents))
	} else if l.PossibleAgent != nil {
		t.Errorf("before it: veiled by %v", *l.PossibleAgent)
	}
	if l := of("20"); l.Agents != nil {
		t.Errorf("after it: %d agents", *l.Agents)
	} else if want := (snapshot.PaneProc{PID: 11, Name: "node"}); l.PossibleAgent == nil || *l.PossibleAgent != want {
		t.Errorf("after it: veiled by %v, want %v", deref(l.PossibleAgent), want)
	}
	if a, b := of("12").AgentAncestor, of("10").AgentBelow; a != nil || b != nil {
		t.Errorf("above: %v, below: %v", deref(a), deref(b))
	}
}

// TestWhatLivesBelowATerminal is known of the terminal's own process only.
func TestWhatLivesBelowATerminal(t *testing.T) {
	t.Parallel()
	run := quiet(12, 11, "node")
	run.Script, run.Package = new("gemini"), new("")
	shellper := quiet(11, 1, "shellper")
	s := table(quiet(1, 0, "systemd"), shellper, run)
	s.Terminals = map[string]snapshot.Terminal{
		"terminal:a": {PID: new(11), StartTicks: new(uint64(2))}, "terminal:b": {PID: new(11), StartTicks: new(uint64(9))}, "terminal:c": {},
	}
	j := recognising(s)
	for id, want := range map[string]*bool{"terminal:a": new(true), "terminal:b": nil, "terminal:c": nil} {
		sub, _ := j.Subject(id)
		if want == nil && sub.Lineage != nil || want != nil && (sub.Lineage == nil || sub.Lineage.AgentBelow == nil || *sub.Lineage.AgentBelow != *want) {
			t.Errorf("%s: %+v", id, sub.Lineage)
		}
	}
}

func deref[T any](v *T) any {
	if v == nil {
		return "not known"
	}
	return *v
}

// TestWhoHidesFromAPlainUserIsNoAgent: process 1 shows only root what it was started from, and everything is below it.
func TestWhoHidesFromAPlainUserIsNoAgent(t *testing.T) {
	t.Parallel()
	s := table(quiet(1, 0, "systemd"), quiet(10, 1, "sleep"))
	alterProcess(s, "process:1", func(p *snapshot.Process) { p.Exe = nil })
	sub, _ := recognising(s).Subject("process:10")
	if above := sub.Lineage.AgentAncestor; above == nil || *above {
		t.Errorf("an agent above: %v", deref(above))
	}
}
