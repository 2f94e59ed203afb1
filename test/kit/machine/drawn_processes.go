package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// speaks has a starter start a program with which it speaks over pipes, as an agent does with an MCP server.
func (d *Drawing) speaks(s *Starter, dir string, env []string, argv ...string) int {
	d.t.Helper()
	return s.tell(order{Argv: argv, Dir: dir, Talk: true, Env: env}, "wait")
}

const mcpPackage = `{"name":"notes-server","version":"1.0.0","dependencies":{"@modelcontextprotocol/sdk":"^1.20.0"}}`

const mcpSource = `import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
await new McpServer({ name: "notes", version: "1.0.0" }).connect(new StdioServerTransport());
`

// removed is a worktree of an agent that it has deleted; what it started in it is started by begin.
func (d *Drawing) removed(name string, begin func(p string)) {
	d.t.Helper()
	p := d.acme.worktree(d.inside(name), "worktree-"+name, 0)
	begin(p)
	d.acme.git(d.acme.path, "worktree", "remove", "--force", p)
}

func (d *Drawing) leaked() {
	main, node := d.acme.path, d.program("node")
	dead, older := d.dead, d.older
	tool := func(dir string, argv ...string) order {
		return order{Argv: argv, Dir: dir, Away: true, Env: dead.env(true)}
	}

	npx := d.script(".npm/_npx/9833c18b2d85bc59", "@playwright/mcp", "cli.js")
	o := order{Argv: []string{d.program("npm"), "exec", "@playwright/mcp@latest"}, Dir: main, Talk: true,
		Env: dead.env(false)}
	npm, cli := d.parents(dead.Starter, o, "wait", node, npx)
	d.gone("MCP server below npm exec", "its Claude was killed", pidPart(npm), pidPart(cli))

	d.write(d.Path("code", "notes-mcp", "server.py"), "from mcp.server.fastmcp import FastMCP\n")
	d.write(d.Path("code", "notes-mcp", "pyproject.toml"),
		"[project]\nname = \"notes-mcp\"\ndependencies = [\"mcp[cli]>=1.2\"]\n")
	d.write(d.Path("code", "notes-mcp", ".venv", "pyvenv.cfg"), "home = /usr/bin\n")
	packages := d.Path("code", "notes-mcp", ".venv", "lib", "python3.12", "site-packages")
	d.write(filepath.Join(packages, "mcp-1.20.0.dist-info", "METADATA"), "Name: mcp\n")
	d.write(filepath.Join(packages, "mcp", "server", "stdio.py"), "# stdio\n")
	loaded := filepath.Join(packages, "pydantic_core", "_pydantic_core.cpython-312-x86_64-linux-gnu.so")
	d.write(loaded, "ELF\n")
	python := d.program("python3")
	d.must(os.MkdirAll(d.Path("code", "notes-mcp", ".venv", "bin"), 0o755))
	venv := d.Path("code", "notes-mcp", ".venv", "bin", "python")
	d.must(os.Link(python, venv))
	d.gone("MCP server that no list names", "its Claude was killed; it depends on mcp",
		pidPart(d.speaks(dead.Starter, main, append(dead.env(false), mapsVar+"="+loaded), venv, d.Path("code", "notes-mcp", "server.py"))))

	profile := d.Path(".cache", "ms-playwright", "mcp-chrome-1")
	d.must(os.MkdirAll(profile, 0o755))
	chrome := d.program("chrome")
	browser, renderer := d.parents(dead.Starter, tool(main, chrome, "--headless", "--remote-debugging-port=0",
		"--user-data-dir="+profile, "about:blank"),
		"wait", chrome, "--type=renderer", "--user-data-dir="+profile)
	d.gone("driven browser", "its server and its Claude were killed", pidPart(browser), pidPart(renderer))

	d.removed("web", func(p string) {
		vite := filepath.Join(p, "node_modules", ".bin", "vite")
		d.write(vite, "// vite\n")
		pid, _ := d.listens(dead.Starter, tool(p, node, vite))
		d.gone("vite", "its Claude was killed and its worktree deleted; it listens, and has no client", pidPart(pid))
	})

	lsp := d.script("lib", "typescript-language-server", "lib/cli.mjs")
	o = order{Argv: []string{node, lsp, "--stdio"}, Dir: main, Talk: true, Env: dead.env(true)}
	outer, inner := d.parents(dead.Starter, o, "wait", node, d.script("lib", "typescript", "lib/tsserver.js"))
	d.gone("tsserver", "a language server and its child; what spoke with them was killed", pidPart(outer),
		pidPart(inner))

	snapshot := d.Path(".claude", "shell-snapshots", "snapshot-bash-1700000000000-abc123.sh")
	d.write(snapshot, "true\n")
	shell := func(command string) []string {
		return []string{"/bin/bash", "-c", "source " + snapshot + " 2>/dev/null || true; " + command}
	}
	d.gone("poll loop", "it waits for a file that never comes; its Claude was killed",
		pidPart(dead.tell(tool(main, shell("until [ -e /nowhere/never ]; do sleep 1; done")...), "")))
	d.gone("busy loop",
		"a tool call's load test that was never stopped; its Claude was killed (26 made load 29 in one report)",
		pidPart(dead.tell(tool(main, append([]string{"nice", "-n", "19"}, shell("while :; do :; done")...)...), "")))

	output := d.Path("tmp", "claude-0", "tasks", "b1a2c3.output")
	d.write(output, "done\n")
	d.gone("tail", "it follows the output of a task that ended with its Claude",
		pidPart(dead.tell(tool(main, "tail", "-f", output), "")))

	d.removed("go", func(p string) {
		d.gone("gopls", "its Claude was killed and its workspace deleted",
			pidPart(d.speaks(dead.Starter, p, dead.env(true), d.program("gopls"))))
	})

	p := d.landed("next", squash)
	next := d.script("code/acme/.claude/worktrees/next", "next", "dist/server/lib/start-server.js")
	pid, _ := d.listens(dead.Starter, order{Path: node, Argv: []string{"next-server (v15.1.0)", next}, Dir: p,
		Away: true, Env: dead.env(true)})
	d.left(p)
	d.gone("next-server", "its Claude was killed and its worktree landed; it listens, and has no client", pidPart(pid),
		dirPart(p))

	memory := d.script("lib", "@modelcontextprotocol/server-memory", "dist/index.js")
	d.stays("MCP server of a live agent", "its agent waits for its user",
		pidPart(d.speaks(older.Starter, main, older.env(false), node, memory)))

	person := d.person(d.Home)
	away := func(command string, argv ...string) order {
		return order{Argv: append([]string{"/bin/sh", "-c", command}, argv...), Dir: d.Home, Away: true}
	}
	d.stays("nohup", "a person's training", pidPart(person.tell(away(`exec nohup "$0" train.py >train.out 2>&1`,
		python), "wait")))

	bench := order{Argv: []string{"/bin/sh", "-c", `exec nohup "$0" bench.py >bench.log 2>&1`, python}, Dir: d.Home,
		Away: true, Env: dead.env(true)}
	d.stays("working job", "a dead Claude began it for its user; it still writes its results",
		pidPart(dead.tell(bench, "work")))
	d.logs = append(d.logs, d.Path("bench.log"))

	pid, at := d.listens(dead.Starter, tool(d.Home, python, "-m", "http.server"))
	desktop := d.person(d.Home)
	says := d.file()
	client := desktop.tell(order{Argv: []string{d.program("firefox")}, Dir: d.Home, Away: true,
		Env: []string{peerVar + "=" + at, saysVar + "=" + says}}, "connect")
	d.heard(says)
	d.stays("served page", "a person's browser is connected", pidPart(pid), pidPart(client))

	scraper := d.starter(python, d.Home)
	d.stays("a person's headless browser", "a person's script drives it", pidPart(scraper.PID),
		pidPart(d.speaks(scraper, d.Home, nil, chrome, "--headless", "--remote-debugging-pipe",
			"--user-data-dir="+d.Path("scraper", "profile"))))

	keys := exec.Command("ssh-agent", "-s", "-a", d.Path("agent.sock"))
	keys.Env, keys.Dir = d.Env(), d.Home
	out, err := keys.Output()
	d.must(err)
	found := regexp.MustCompile(`SSH_AGENT_PID=(\d+)`).FindSubmatch(out)
	if found == nil {
		d.t.Fatalf("ssh-agent: %s", out)
	}
	pid, err = strconv.Atoi(string(found[1]))
	d.must(err)
	d.stays("ssh-agent", "it holds a person's keys", pidPart(pid))
	timer := person.tell(away("trap '' HUP; sleep 300000; ./publish.sh"), "")
	d.stays("timer", "a person's job that begins in three days; it would begin early without its sleep",
		pidPart(timer), pidPart(d.below(timer, "sleep")))

	service := d.Path("code", "site", "server.js")
	d.write(service, "// a service\n")
	pid, below := d.parents(dead.Starter, order{Path: node,
		Argv: []string{"PM2 v5.3.0: God Daemon (" + d.Path(".pm2") + ")"}, Dir: d.Path("code", "site"), Away: true,
		Env: dead.env(true)}, "listen", node, service)
	d.stays("pm2", "a Claude that has ended began the service for its user", pidPart(pid), pidPart(below))

	editor := d.starter(d.program("nvim"), main)
	d.stays("gopls of an editor", "its editor lives", pidPart(editor.PID),
		pidPart(d.speaks(editor, main, nil, d.program("gopls"))))

	code := d.Path(".vscode-server", "cli", "servers", "Stable-abc", "server", "out", "server-main.js")
	d.write(code, "// VS Code\n")
	pid, _ = d.listens(person, order{Argv: []string{node, code, "--start-server"}, Dir: d.Home, Away: true})
	d.stays("VS Code's server", "a person's editor will connect again", pidPart(pid))
	person.kill()
}
