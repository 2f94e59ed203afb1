package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func (d *Drawing) agents() {
	r, main, node := d.acme, d.acme.path, d.program("node")
	dead, older := d.dead, d.older
	unused := func(p, branch string) string { return d.left(r.worktree(p, branch, 0)) }

	editor := d.starter(d.program("code"), main)
	native := d.program(".vscode/extensions/anthropic.claude-code-2.1.300/resources/native-binary/claude")
	pid := d.speaks(editor, main, nil, native, "--output-format", "stream-json", "--input-format", "stream-json",
		"--verbose")
	d.record(pid, "5e551003-0000-4000-8000-000000000003", main)
	d.gone("Claude of a dead editor", "nothing can speak with it any more (49 of them in one report)", pidPart(pid))
	d.gone("Codex of a dead editor", "nothing can speak with it any more",
		pidPart(d.speaks(editor, main, []string{d.opens("01990000-0000-7000-8000-0000000000a1", main)},
			d.program("codex"), "app-server")))
	editor.kill()

	p := d.Path(".codex", "worktrees", "1a2b", "acme")
	d.must(os.MkdirAll(filepath.Dir(p), 0o755))
	r.gitAt(3*day, main, "worktree", "add", "-q", "--detach", p, "main")
	d.gone("Codex's worktree", "detached at a commit of origin/main, clean", dirPart(d.left(p)))

	d.gone("Qwen's worktree", "nothing was ever done in it",
		dirPart(unused(filepath.Join(main, ".qwen", "worktrees", "fix"), "worktree-qwen-fix")))
	d.gone("VS Code's background agent", "landed, beside the repository",
		dirPart(d.landedAt(main+".worktrees/copilot-worktree-2026-11-20T10-00-00",
			"copilot/worktree-2026-11-20T10-00-00", squash)))
	d.gone("OpenCode's worktree", "landed",
		dirPart(d.landedAt(d.Path(".local", "share", "opencode", "worktree", "0a1b2c", "calm-moon"),
			"opencode/calm-moon", squash)))
	d.gone("litter of agents", "landed; what it holds besides are agents' own caches",
		dirPart(d.landed("litter", squash, "tmpclaude-1f2e-cwd="+main, ".aider.tags.cache.v4/cache.db=x")))

	d.gone("prompt", "npx waits for an answer that cannot come: its Claude was killed", pidPart(dead.tell(order{
		Argv: []string{node, d.script(".npm/_npx/55aa", "create-next-app", "dist/index.js"), "site"}, Dir: main,
		Pipe: true, Away: true, Env: dead.env(true)}, "wait")))

	lead := d.landed("lead", squash)
	inner := d.landedAt(filepath.Join(lead, ".claude", "worktrees", "agent-7"), "worktree-agent-7", squash)
	d.left(lead)
	d.gone("nested", "a worktree below another agent's; both landed", dirPart(lead), dirPart(inner))

	script := d.script("lib", "@google/gemini-cli", "bundle/gemini.js")
	gemini := d.scripted(node, script, main)
	d.write(d.Path("code", "notes-server", "package.json"), mcpPackage)
	d.write(d.Path("code", "notes-server", "dist", "index.js"), mcpSource)
	pid = d.speaks(gemini, main, []string{"GEMINI_CLI=1"}, node, d.Path("code", "notes-server", "dist", "index.js"))
	gemini.kill()
	d.gone("Gemini's MCP server", "its Gemini was killed; an older Claude waits for its user", pidPart(pid))

	claude := d.program("claude")
	pid = d.terminal(main, []string{roleVar + "=wait"}, claude)
	d.record(pid, "5e551005-0000-4000-8000-000000000005", main)
	d.stays("claude in a terminal", "it waits for its user", pidPart(pid))

	nightly := d.starter(d.program("python3"), main)
	pid = d.speaks(nightly, main, nil, claude, "-p", "--output-format", "json")
	d.record(pid, "5e551006-0000-4000-8000-000000000006", main)
	d.stays("claude -p", "a person's script reads what it prints; it waits for its model", pidPart(nightly.PID),
		pidPart(pid))
	d.stays("codex in a terminal", "it waits for an approval",
		pidPart(d.terminal(main, []string{roleVar + "=wait", d.opens("01990000-0000-7000-8000-0000000000a2", main)},
			d.program("codex"))))

	p = d.landed("lived-in", squash)
	lives := d.claude("5e551004-0000-4000-8000-000000000004", p)
	d.left(p)
	d.stays("live agent in a landed worktree", "it waits for the next order", pidPart(lives.PID), dirPart(p))

	person := d.person(main)
	pid, cargo := d.parents(person,
		order{Argv: []string{"/bin/sh", "-c", `exec nohup "$0" exec "fix it" >fix.log 2>&1`, d.program("codex")},
			Dir: d.Home, Away: true,
			Env: []string{d.opens("01990000-0000-7000-8000-0000000000a3", d.Home)}},
		"work", d.program("cargo"), "test")
	d.logs = append(d.logs, d.Path("fix.log"))
	d.stays("codex exec", "a person's job in the background, whose test runs", pidPart(pid), pidPart(cargo))

	bridge := d.starter(d.program("python3"), main)
	d.stays("claude mcp serve", "another program speaks with it", pidPart(bridge.PID),
		pidPart(d.speaks(bridge, main, nil, claude, "mcp", "serve")))

	ao := d.script("lib", "@composio/ao", "dist/cli.js")
	pid, _ = d.listens(person, order{Argv: []string{node, ao, "start"}, Dir: d.Home, Away: true})
	d.stays("orchestrator's daemon", "it starts agents when a person asks for them", pidPart(pid))

	p = r.worktree(d.inside("agent-live"), "worktree-agent-live", 0)
	ticks, err := startTicks(older.PID)
	d.must(err)
	r.git(main, "worktree", "lock", "--reason", fmt.Sprintf("claude agent agent-live (pid %d start %d)", older.PID,
		ticks), p)
	d.stays("subagent's worktree", "a live Claude locked it", dirPart(d.left(p)))

	pid, _ = d.listens(person, order{Argv: []string{d.program("gemini"), "--certs", d.Path("certs")}, Dir: d.Home,
		Away: true})
	d.stays("name trap", "a person's server of the Gemini protocol", pidPart(pid))
	person.kill()

	var kept []Thing
	for _, f := range []string{".claude/projects/-code-acme/" + deadSession + ".jsonl", ".claude/CLAUDE.md",
		".codex/sessions/2026/11/20/rollout-1.jsonl", ".gemini/GEMINI.md"} {
		d.write(d.Path(f), "remember\n")
		d.must(age(d.Path(f), 30*24*time.Hour))
		kept = append(kept, d.filePart(d.Path(f)))
	}
	d.stays("memory", "agents' conversations and their notes", kept...)
}
