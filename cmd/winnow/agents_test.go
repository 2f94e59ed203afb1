package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/state"
	"github.com/winnow-reaper/winnow/test/kit/agents"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
)

// looked is a capture as the program with its own configuration sees it.
func looked(t *testing.T, c agents.Capture) *subject.Index {
	t.Helper()
	return lookedAt(t, c.Proc(t), nil)
}

func lookedAt(t *testing.T, root string, change func(*subject.Config)) *subject.Index {
	t.Helper()
	cfg := musts.Get(config.Defaults())(t)
	if change != nil {
		change(&cfg.Rules.Config)
	}
	cfg.Collect.Processes.Root = root
	a := &app{Ops: ops.New(state.Folder{Cfg: cfg, Log: hclog.NewNullLogger()})}
	part := musts.Get(processes.New(a.Sources().Processes(sources.Scope{})).Read(t.Context()))(t)
	s := &snapshot.Snapshot{
		TakenAt: time.Unix(1700001000, 0), Processes: part.Processes, Host: snapshot.Host{UID: new(os.Geteuid()), OrphanParents: []int{1}},
		Sources: map[string]snapshot.Source{snapshot.Proc: {Status: snapshot.OK}},
	}
	return subject.Join(s, &cfg.Rules.Config)
}

func subjectOf(t *testing.T, j *subject.Index, pid int) *subject.Subject {
	t.Helper()
	sub, ok := j.Subject(snapshot.ProcessID(pid, agents.Ticks(pid)))
	if !ok {
		t.Fatalf("no process %d", pid)
	}
	return sub
}

// TestEveryCapturedAgentIsKnown reads each agent's real processes, however it was started, with the shipped configuration: its own are
// agents; what it runs, what talks to it and what started it are not.
func TestEveryCapturedAgentIsKnown(t *testing.T) {
	t.Parallel()
	for _, c := range agents.Captures(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			j := looked(t, c)
			for _, p := range c.Processes {
				sub := subjectOf(t, j, p.PID)
				is := sub.Lineage.IsAgent
				// The servers were captured under a name that no program has, so that what they are is unknown.
				if want := p.Role == agents.Agent || p.Role == agents.Daemon; is == nil && p.Role != agents.MCP || is != nil && *is != want {
					t.Errorf("pid %d (%s, %s): agent %v, want %v", p.PID, p.Comm, p.Role, shown(is), want)
				}
				daemon := sub.Process.Daemon != nil && *sub.Process.Daemon != ""
				if want := p.Role == agents.Daemon; daemon != want {
					t.Errorf("pid %d (%s, %s): daemon %v, want %v", p.PID, p.Comm, p.Role, daemon, want)
				}
				for _, kept := range []*string{sub.Process.Script, sub.Process.Package, sub.Process.Daemon} {
					if kept != nil && strings.Contains(*kept, "TEXT") {
						t.Errorf("pid %d: what a person typed is kept: %q", p.PID, *kept)
					}
				}
			}
		})
	}
}

func shown(v *bool) string {
	if v == nil {
		return "not known"
	}
	return map[bool]string{true: "true", false: "false"}[*v]
}

// TestACapturedToolHasItsAgentWhileThatLives: while the agent lives, no process of its tools is an orphan, also in a session of
// its own; when it is gone, nothing of what is left counts as an agent in its stead.
func TestACapturedToolHasItsAgentWhileThatLives(t *testing.T) {
	t.Parallel()
	tools := 0
	for _, c := range agents.Captures(t) {
		if strings.HasSuffix(c.Name, "left-behind") {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			alive := looked(t, c)
			dead := c.Without(agents.Agent, agents.Daemon, agents.Wrapper, agents.MCP)
			ended := looked(t, dead)
			for _, p := range c.Processes {
				if p.Role != agents.Tool && p.Role != agents.MCP {
					continue
				}
				tools++
				if n := subjectOf(t, alive, p.PID).Lineage.Agents; n == nil || *n == 0 {
					t.Errorf("pid %d (%s) has no agent although one lives", p.PID, p.Comm)
				}
				if p.Role == agents.MCP {
					continue
				}
				if n := subjectOf(t, ended, p.PID).Lineage.Agents; n == nil || *n != 0 {
					t.Errorf("pid %d (%s) has an agent although all are gone", p.PID, p.Comm)
				}
			}
		})
	}
	if tools < 40 {
		t.Errorf("only %d tools' processes were looked at", tools)
	}
}

// TestADaemonIsAnAgentAtWorkWhileSomethingRunsBelowIt follows a Codex whose terminal was closed while it was at work: for two minutes its
// threads run on in the daemon, tools and servers below it; then the daemon is alone, for ever.
func TestADaemonIsAnAgentAtWorkWhileSomethingRunsBelowIt(t *testing.T) {
	t.Parallel()
	c := agents.Get(t, "codex-0.171.0-name")
	hosted := c.Without(agents.Agent, agents.Terminal, agents.Server)
	j := looked(t, hosted)
	detached := slices.IndexFunc(hosted.Processes, func(p agents.Process) bool { return p.Role == agents.Tool && p.PPID == 1 })
	if n := subjectOf(t, j, hosted.Processes[detached].PID).Lineage.Agents; n == nil || *n != 1 {
		t.Errorf("a daemon at work counts as %v agents", n)
	}
	for _, p := range hosted.Processes {
		above := subjectOf(t, j, p.PID).Lineage.AgentAncestor
		if want := p.PPID != 1; above == nil || *above != want {
			t.Errorf("pid %d (%s): below an agent %v, want %v", p.PID, p.Comm, shown(above), want)
		}
	}

	left := agents.Get(t, "codex-0.171.0-left-behind")
	j = looked(t, left)
	for _, p := range left.Processes {
		sub := subjectOf(t, j, p.PID)
		if n := sub.Lineage.Agents; n == nil || *n != 0 {
			t.Errorf("daemons that nothing runs below count as %v agents for pid %d (%s)", n, p.PID, p.Comm)
		}
	}
}

// TestADaemonWhoseCommandLineIsUnknownIsAnAgent keeps to what is known.
func TestADaemonWhoseCommandLineIsUnknownIsAnAgent(t *testing.T) {
	t.Parallel()
	left := agents.Get(t, "codex-0.171.0-left-behind")
	root := left.Proc(t)
	for _, p := range left.Processes {
		if p.Role == agents.Daemon {
			musts.Do(t, os.Truncate(filepath.Join(root, strconv.Itoa(p.PID), "cmdline"), 0))
		}
	}
	j := lookedAt(t, root, nil)
	for _, p := range left.Processes {
		if n := subjectOf(t, j, p.PID).Lineage.Agents; p.Role == agents.Tool && (n == nil || *n != 2) {
			t.Errorf("agents: %v, want 2", n)
		}
	}
}

// TestACapturedMarkerIsOfAnAgentThatIsKnown: a variable that says that an agent started a process is on the list only where a capture shows
// it, or where no capture of that agent has tools.
func TestACapturedMarkerIsOfAnAgentThatIsKnown(t *testing.T) {
	t.Parallel()
	cfg := musts.Get(config.Defaults())(t)
	markers := map[string][]string{
		"Claude Code 2.1.197": {"CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ID"}, "OpenClaw": {"OPENCLAW_SHELL"}, "Cline": nil,
		"Claude Code": {"CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID"}, "Codex": {"CODEX_CI", "CODEX_SESSION_ID", "CODEX_THREAD_ID"}, "OpenCode": {"OPENCODE", "OPENCODE_PID"}, "pi": {"PI_CODING_AGENT"},
		// Editors run these agents in a program of their own, which is not known: docs/reference/agents.md, rule 2.
		"Gemini CLI": {"GEMINI_CLI"}, "Qwen Code": {"QWEN_CODE_LAUNCHER_PID", "QWEN_CODE_SESSION_ID"}, "GitHub Copilot CLI": nil,
	}
	for agent, want := range markers {
		seen := 0
		for _, c := range agents.Captures(t) {
			for _, p := range c.Processes {
				of := c.Agent + " " + c.Version
				if _, older := markers[of]; !older {
					of = c.Agent
				}
				if agent != of || p.Role != agents.Tool {
					continue
				}
				seen++
				var have []string
				for _, name := range p.Env {
					if slices.Contains(cfg.MarkerNames(), name) {
						have = append(have, name)
					}
				}
				if !slices.Equal(have, want) {
					t.Errorf("%s: pid %d (%s) carries %v, want %v", c.Name, p.PID, p.Comm, have, want)
				}
			}
		}
		if seen == 0 {
			t.Errorf("no tool of %s was captured", agent)
		}
	}
}

// TestARealProcessOfNode starts a script from where npm would have put an agent's, under its link. Only this test started it, so
// that other tests, which look at the whole machine, see none.
func TestARealProcessOfNode(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: what real processes of it look like is not tested")
	}
	modules := filepath.Join(t.TempDir(), "node_modules")
	bundle, bin := filepath.Join(modules, "@agents-of-a-test/one/bundle"), filepath.Join(modules, ".bin")
	for _, dir := range []string{bundle, bin} {
		musts.Do(t, os.MkdirAll(dir, 0o755))
	}
	const script = "const go = process.argv[2]; if (go) process.title = go; console.log('ready'); process.stdin.resume();\n"
	musts.Do(t, os.WriteFile(filepath.Join(bundle, "cli.js"), []byte(script), 0o644))
	musts.Do(t, os.Symlink("../@agents-of-a-test/one/bundle/cli.js", filepath.Join(bin, "another-name")))
	musts.Do(t, os.WriteFile(filepath.Join(modules, "own.js"), []byte(script), 0o644))
	linked := ready(t, program, filepath.Join(bin, "another-name"))
	titled := ready(t, program, filepath.Join(modules, "own.js"), "a-title-of-ours")
	own := ready(t, program, filepath.Join(modules, "own.js"))
	j := lookedAt(t, "/proc", func(c *subject.Config) {
		c.Agents, c.AgentPackages = append(c.Agents, "a-title-of-ours"), append(c.AgentPackages, "@agents-of-a-test/one")
	})
	// An agent may run the tests, and what a script below an agent is is not known.
	for pid, want := range map[int]bool{linked: true, titled: true, own: false} {
		found := false
		for _, id := range j.IDs(snapshot.KindProcess) {
			sub, _ := j.Subject(id)
			if sub.Process.PID != pid {
				continue
			}
			found = true
			if is := sub.Lineage.IsAgent; (is != nil && *is) != want {
				t.Errorf("pid %d (%s): agent %v, want %v; script %v of %v", pid, sub.Process.Name, shown(is), want, sub.Process.Script, sub.Process.Package)
			}
		}
		if !found {
			t.Errorf("pid %d was not seen", pid)
		}
	}
}

// ready starts a program that says a line when it is ready and ends with its standard input.
func ready(t *testing.T, program string, args ...string) int {
	t.Helper()
	c := exec.Command(program, args...)
	in := musts.Get(c.StdinPipe())(t)
	out := musts.Get(c.StdoutPipe())(t)
	musts.Do(t, c.Start())
	t.Cleanup(func() { _ = in.Close(); _ = c.Wait() })
	musts.Get(out.Read(make([]byte, 16)))(t)
	return c.Process.Pid
}
