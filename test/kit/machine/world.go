package machine

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	_ "modernc.org/sqlite" // the driver of Codex's store

	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// Build fills the machine: 39 folders, 27 processes, 16 sessions; one older Claude and one older Codex are alive, another Claude, a Codex
// and an OpenCode were killed.
func (m *Machine) Build() {
	m.t.Helper()
	m.write(m.Path(".gitconfig"), "[user]\n\tname = u\n\temail = u@example.org\n[init]\n\tdefaultBranch = main\n")
	acme := m.repo(m.Path("code", "acme"), true)
	m.write(filepath.Join(acme.path, ".env"), "KEY=main\n")
	m.write(filepath.Join(acme.path, ".claude", "settings.local.json"), "{}\n")
	living := m.claude("5e551001-0000-4000-8000-000000000001", acme.path) // older than all that follows
	codex := m.codex("01990000-0000-7000-8000-000000000001", acme.path, m.works())
	deadCodex := m.codex(deadThread, acme.path, acme.path)
	m.landed(acme)
	m.untouched(acme)
	m.kept(acme, living)
	m.processes(acme, living, codex, deadCodex)
	m.people()
}

// landed are worktrees whose work is on main, in the layouts of several agents.
func (m *Machine) landed(acme *repo) {
	m.t.Helper()
	inside := func(name string) string { return filepath.Join(acme.path, ".claude", "worktrees", name) }
	for _, w := range []struct{ path, branch, how string }{
		{inside("fix-login"), "worktree-fix-login", merged},
		{inside("add-tests"), "worktree-add-tests", squash},
		{inside("docs"), "worktree-docs", rebased},
		{inside("mixed"), "worktree-mixed", mixed},
		{acme.path + ".speed", "speed", squash}, // worktrunk: beside the repository
		{acme.path + ".i18n", "i18n", rebased},
		{acme.path + ".theme", "theme", merged},
		{m.Path(".local", "share", "opencode", "worktree", "0a1b2c", "quiet-fox"), "opencode/quiet-fox", squash},
		{m.Path(".codex", "worktrees", "4f2a", "acme"), "codex/upload", squash},
	} {
		acme.worktree(w.path, w.branch, 2)
		acme.land(w.branch, w.how)
		acme.old(w.path, 8*day)
		m.folder(w.path, "worktree "+w.branch, true, "its branch was "+w.how+" into main")
	}

	p := acme.worktree(inside("env"), "worktree-env", 1)
	m.write(filepath.Join(p, ".env"), "KEY=main\n")
	m.write(filepath.Join(p, ".claude", "settings.local.json"), "{}\n")
	acme.land("worktree-env", squash)
	acme.old(p, 8*day)
	m.folder(p, "worktree with a copied .env", true, "squashed, and .env is the main checkout's")

	p = acme.worktree(inside("deps"), "worktree-deps", 1)
	m.write(filepath.Join(p, "node_modules", "left-pad", "index.js"), strings.Repeat("x", 1<<16))
	m.write(filepath.Join(p, "npm-debug.log"), "a log\n")
	acme.land("worktree-deps", squash)
	acme.old(p, 8*day)
	m.folder(p, "worktree with node_modules and npm's log", true, "squashed, and what else it holds can be made again")

	p = acme.worktree(inside("again"), "worktree-again", 1)
	m.write(filepath.Join(p, "shared.txt"), "one\ntwo\nthree, better\nfour\nfive\n")
	acme.commit(p, "better", 10*day)
	acme.land("worktree-again", squash)
	m.write(filepath.Join(acme.path, "shared.txt"), "one\ntwo\nthree, best\nfour\nfive\n")
	acme.commit(acme.path, "best", 8*day)
	acme.publish()
	acme.old(p, 8*day)
	m.folder(p, "worktree whose lines were changed again", true, "squashed; later commits changed the same lines")

	for i, how := range []string{merged, squash} {
		p = acme.worktree(inside(fmt.Sprintf("locked-%d", i)), fmt.Sprintf("worktree-locked-%d", i), 1)
		acme.land(fmt.Sprintf("worktree-locked-%d", i), how)
		reason := "claude agent agent-a1b2c3d (pid 3999999)"
		if i == 1 {
			reason = "claude agent agent-d4e5f6a (pid 3999998 start 12345)"
		}
		acme.git(acme.path, "worktree", "lock", "--reason", reason, p)
		acme.old(p, 8*day)
		m.folder(p, fmt.Sprintf("worktree locked by an agent that is gone, %d", i), true, how+"; the process that locked it is gone")
	}

	solo := m.repo(m.Path("src", "solo"), false)
	for _, how := range []string{merged, squash} {
		p = solo.worktree(filepath.Join(solo.path, ".claude", "worktrees", how), "worktree-"+how, 1)
		solo.land("worktree-"+how, how)
		solo.old(p, 8*day)
		m.folder(p, "worktree of a repository without a remote, "+how, true, "it is on the repository's own main")
	}
}

// untouched are worktrees in which nothing was ever done, and entries of worktrees that are gone.
func (m *Machine) untouched(acme *repo) {
	m.t.Helper()
	for i := range 3 {
		p := m.Path(".codex", "worktrees", fmt.Sprintf("%04x", 0x1a2b+i), "acme")
		m.must(os.MkdirAll(filepath.Dir(p), 0o755))
		acme.gitAt(6*day, acme.path, "worktree", "add", "-q", "--detach", p, "main")
		acme.old(p, 6*day)
		m.folder(p, fmt.Sprintf("Codex's worktree %d, without a commit", i), true, "nothing was ever done in it")
	}
	acme.gitAt(6*day, acme.path, "worktree", "add", "-q", "--detach", m.works(), "main")
	acme.old(m.works(), 6*day)
	m.folder(m.works(), "worktree of a living Codex that stands elsewhere", false, "its thread works there, by Codex's store")
	p := m.Path(".local", "share", "opencode", "worktree", "0a1b2c", "calm-owl")
	acme.worktree(p, "opencode/calm-owl", 0)
	acme.old(p, 6*day)
	m.folder(p, "OpenCode's worktree without a commit", true, "nothing was ever done in it")

	lib := m.repo(m.Path("code", "lib"), true)
	p = lib.worktree(lib.path+"-spike", "spike", 0)
	lib.old(p, 6*day)
	m.folder(p, "worktree of a repository in ~/code", true, "nothing was ever done in it")

	for i := range 2 {
		p := acme.path + fmt.Sprintf(".gone-%d", i)
		acme.worktree(p, fmt.Sprintf("gone-%d", i), 0)
		admin := acme.git(p, "rev-parse", "--absolute-git-dir")
		m.must(os.RemoveAll(p))
		m.must(age(admin, 6*day))
		m.add(Thing{Kind: Folder, Name: fmt.Sprintf("entry of a worktree that was removed by hand, %d", i), Place: p, Want: true,
			Why: "its folder is gone", There: func() bool { return exists(admin) }})
	}
}

// kept are folders that must stay.
func (m *Machine) kept(acme *repo, living claude) {
	m.t.Helper()
	inside := func(name string) string { return filepath.Join(acme.path, ".claude", "worktrees", name) }
	keep := func(name, why string, commits int, land string, change func(p string)) string {
		p := acme.worktree(inside(name), "worktree-"+name, commits)
		if land != "" {
			acme.land("worktree-"+name, land)
		}
		if change != nil {
			change(p)
		}
		acme.old(p, 8*day)
		m.folder(p, "worktree "+name, false, why)
		return p
	}
	keep("unpushed", "its commits are nowhere else", 2, "", nil)
	keep("dirty", "it has a changed file", 1, squash, func(p string) { m.write(filepath.Join(p, "shared.txt"), "mine\n") })
	keep("notes", "it has a file of its own", 1, squash, func(p string) { m.write(filepath.Join(p, "notes.md"), "a thought\n") })
	keep("secret", "its .env differs from the main checkout's", 1, squash, func(p string) { m.write(filepath.Join(p, ".env"), "KEY=other\n") })
	keep("more", "it has one commit more than was squashed", 1, squash, func(p string) {
		m.write(filepath.Join(p, "more.txt"), "more\n")
		acme.commit(p, "more", 9*day)
	})
	keep("locked-by-me", "a person locked it", 1, squash, func(p string) {
		acme.git(acme.path, "worktree", "lock", "--reason", "on a disk that I take with me", p)
	})
	keep("picking", "a cherry-pick is under way", 1, "", func(p string) {
		acme.git(p, "branch", "clash", "HEAD")
		m.write(filepath.Join(p, "shared.txt"), "ours\n")
		acme.commit(p, "ours", 9*day)
		tree := acme.git(p, "rev-parse", "HEAD")
		acme.git(p, "checkout", "-q", "clash")
		m.write(filepath.Join(p, "shared.txt"), "theirs\n")
		acme.commit(p, "theirs", 9*day)
		cmd := exec.Command("git", "-C", p, "cherry-pick", tree)
		cmd.Env = m.Env()
		if cmd.Run() == nil {
			m.t.Fatal("the cherry-pick did not stop")
		}
	})
	p := keep("in-use", "a living agent works in it", 1, squash, nil)
	living.tool(order{Argv: []string{m.program("vitest"), "--watch"}, Dir: p}, "wait")

	fresh := acme.worktree(inside("fresh"), "worktree-fresh", 0)
	m.folder(fresh, "worktree fresh", false, "it was made just now")

	side := m.repo(m.Path("code", "side"), false)
	acme.git(m.Home, "clone", "-q", acme.path, m.Path("code", "clone"))
	for _, p := range []string{acme.path, side.path, m.Path("code", "clone"), m.Path("src", "solo"), m.Path("code", "lib")} {
		m.folder(p, "repository "+filepath.Base(p), false, "it is a person's own checkout")
	}

	big := acme.worktree(inside("big"), "worktree-big", 1)
	for i := range 24 {
		m.write(filepath.Join(big, "node_modules", "big", fmt.Sprintf("%d.js", i)), strings.Repeat("x", 1<<20))
	}
	acme.old(big, 8*day)
	m.folder(big, "worktree big", false, "its commits are nowhere else")
	m.add(Thing{Kind: Content, Name: "node_modules of worktree big", Place: filepath.Join(big, "node_modules"), Want: true,
		Why: "24 MB that npm makes again", There: func() bool { return exists(filepath.Join(big, "node_modules")) }})
}

// deadThread is the thread of the Codex that was killed.
const deadThread = "01990000-0000-7000-8000-000000000009"

// works is the worktree in which the thread of the living Codex works, as with codex --worktree.
func (m *Machine) works() string { return m.Path(".codex", "worktrees", "77aa", "acme") }

// codex is Codex's own process in one folder, and its thread, which may work in another: the lock on it, and its row in the store. What it starts for its tools carries the thread; its MCP servers carry nothing.
func (m *Machine) codex(thread, dir, works string) *Starter {
	m.t.Helper()
	lock := m.Path(".codex", "thread-writer-locks", thread+".lock")
	m.must(os.MkdirAll(filepath.Dir(lock), 0o755))
	m.thread(thread, works)
	s := m.starter(m.program("codex"), dir, threadVar+"="+lock)
	wait.Eventually(m.t, "Codex's lock", func() bool { return exists(lock) })
	return s
}

// thread enters a thread and the folder in which it works into Codex's store, with the columns of Codex 0.171.0 that say so.
func (m *Machine) thread(id, dir string) {
	m.t.Helper()
	db, err := sql.Open("sqlite", m.Path(".codex", "state_5.sqlite"))
	m.must(err)
	_, err = db.Exec("CREATE TABLE IF NOT EXISTS threads (id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL, cwd TEXT NOT NULL); INSERT INTO threads VALUES (?, '', ?)", id, dir)
	m.must(errors.Join(err, db.Close()))
}

// launched is an MCP server that an agent speaks with and that a runner started, which has ended since.
func (m *Machine) launched(by *Starter, pkg, dir string, env ...string) int {
	m.t.Helper()
	script, said := m.Path("lib", "node_modules", pkg, "dist", "index.js"), m.Path("runner.pid")
	by.tell(order{Argv: []string{"sh", "-c", `exec 3<&0; "$0" "$1" <&3 & echo $! > "$2.new"; mv "$2.new" "$2"`, m.program("node"), script, said},
		Dir: dir, Pipe: true, Env: env}, "wait")
	wait.Eventually(m.t, "the server of a runner", func() bool { return exists(said) })
	text, err := os.ReadFile(said)
	m.must(err)
	m.must(os.Remove(said))
	served, err := strconv.Atoi(strings.TrimSpace(string(text)))
	m.must(err)
	return served
}

// fifo makes one that a program of a person's reads.
func (m *Machine) fifo() string {
	m.t.Helper()
	path := m.Path("fifo")
	m.must(unix.Mkfifo(path, 0o600))
	cmd := exec.Command("cat", path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	m.must(cmd.Start())
	return path
}

func (m *Machine) processes(acme *repo, living claude, codex, deadCodex *Starter) {
	m.t.Helper()
	const fs, memory = "@modelcontextprotocol/server-filesystem", "@modelcontextprotocol/server-memory"
	p := living.server(fs, acme.path)
	m.process(p, "MCP server of a living Claude", false, "its agent lives")
	p = living.tool(order{Argv: []string{m.program("vite"), "dev"}, Dir: acme.path, Away: true}, "listen")
	m.process(p, "development server of a living Claude", false, "its agent lives")
	m.process(living.PID, "living Claude", false, "it lives")
	m.process(codex.PID, "living Codex", false, "it lives")

	// Handed to init although its agent lives: what started it has ended.
	between := living.tool(order{Argv: []string{m.program("npm")}, Dir: acme.path, Away: true, Pipe: true}, "wait")
	m.process(between, "background task of a living Claude", false, "its agent lives")

	// The same of a living Codex: its other thread, which it has closed, and a server whose runner has ended.
	closed := codex.tell(order{Argv: []string{m.program("npm")}, Dir: acme.path, Away: true, Pipe: true,
		Env: []string{"CODEX_THREAD_ID=01990000-0000-7000-8000-000000000002", "CODEX_CI=1"}}, "wait")
	m.process(closed, "background task of a living Codex, of a thread that it has closed", false, "its agent lives")
	m.process(m.launched(codex, fs, acme.path), "MCP server of a living Codex, whose runner has ended", false, "its agent has the other end of its input")
	// The same of one that is the copy of another server of its agent.
	m.process(m.launched(living.Starter, fs, acme.path, living.env(false)...), "copy of an MCP server of a living Claude, whose runner has ended", false,
		"its agent has the other end of its input")

	inWorktree := acme.worktree(filepath.Join(acme.path, ".claude", "worktrees", "held"), "worktree-held", 1)
	acme.land("worktree-held", squash)
	acme.old(inWorktree, 8*day)
	m.folder(inWorktree, "worktree that only a leaked server uses", true, "squashed; what uses it goes too")
	deleted := m.Path("code", "acme.deleted")
	m.must(os.MkdirAll(deleted, 0o755))

	dead := m.claude("5e551002-0000-4000-8000-000000000002", acme.path)
	left := func(pid int, name, why string) { m.process(pid, name, true, why) }
	left(dead.server(fs, acme.path), "MCP server of a dead Claude", "its agent was killed")
	left(dead.server(memory, acme.path), "second MCP server of a dead Claude", "its agent was killed")
	left(dead.server(memory, inWorktree), "MCP server in a worktree", "its agent was killed")
	left(dead.tool(order{Argv: []string{"sleep", "86400"}, Dir: acme.path}, ""), "sleep of a dead Claude", "its agent was killed")
	left(dead.tool(order{Argv: []string{"tail", "-f", "/dev/null"}, Dir: acme.path, Away: true}, ""), "tail of a dead Claude", "its agent was killed")
	left(dead.tool(order{Argv: []string{m.program("vitest"), "--watch"}, Dir: acme.path}, "wait"), "vitest of a dead Claude", "its agent was killed")
	left(dead.tool(order{Argv: []string{m.program("vite"), "dev"}, Dir: deleted, Away: true}, "listen"), "development server of a dead Claude",
		"it listens, its folder and its agent are gone, and nobody is connected")
	ts := m.Path("lib", "node_modules", "typescript", "lib", "tsserver.js")
	m.write(ts, "// a server\n")
	m.write(m.Path("lib", "node_modules", "typescript", "package.json"), `{"name":"typescript"}`)
	left(dead.tool(order{Argv: []string{m.program("node"), ts}, Dir: acme.path, Pipe: true}, "wait"), "language server of a dead Claude", "its agent was killed")
	left(dead.tool(order{Argv: []string{m.program("chrome-headless-shell"), "--headless"}, Dir: acme.path}, "wait"), "browser of a dead Claude", "its agent was killed")

	m.process(dead.tool(order{Argv: []string{"sh", "-c", `exec tail -f /dev/null >"$0"`, m.fifo()}, Dir: acme.path, Away: true}, ""),
		"tail of a dead Claude whose output is read", false, "a program that no list knows reads what it prints")

	left(deadCodex.tell(order{Argv: []string{"sleep", "86400"}, Dir: acme.path, Away: true,
		Env: []string{"CODEX_THREAD_ID=" + deadThread, "CODEX_CI=1"}}, ""), "sleep of a dead Codex", "its agent was killed")
	script := m.Path("lib", "node_modules", fs, "dist", "index.js")
	left(deadCodex.tell(order{Argv: []string{m.program("node"), script}, Dir: m.Path(".codex", "worktrees", "1a2b", "acme"), Pipe: true}, "wait"),
		"MCP server of a dead Codex", "its agent was killed")

	opencode := m.starter(m.program("opencode"), acme.path)
	left(opencode.tell(order{Argv: []string{"sleep", "86400"}, Dir: acme.path, Away: true,
		Env: []string{"OPENCODE=1", "AGENT=1", "OPENCODE_PID=" + strconv.Itoa(opencode.PID)}}, ""), "sleep of a dead OpenCode", "its agent was killed")

	for _, s := range []*Starter{dead.Starter, deadCodex, opencode} {
		s.kill()
	}
	// Here its tool was run in the second in which it opened the thread, which no record can tell apart: as if it had been open for longer.
	opened := time.Now().Add(-time.Minute)
	m.must(os.Chtimes(m.Path(".codex", "thread-writer-locks", deadThread+".lock"), opened, opened))
	m.must(os.RemoveAll(deleted))
}

// people are things of people and of sessions in tmux.
func (m *Machine) people() {
	m.t.Helper()
	acme := &repo{m: m, path: m.Path("code", "acme"), remote: true}
	m.must(os.MkdirAll(m.Path("tmux"), 0o700))
	m.write(m.Path(".tmux.conf"), "set -g default-command 'exec sh'\n")
	env := m.Env()
	tmux := func(args ...string) string {
		m.t.Helper()
		cmd := exec.Command("tmux", args...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil {
			m.t.Fatalf("tmux %q: %v %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	has := func(name string) func() bool {
		return func() bool {
			return slices.ContainsFunc([]string{"default", "agents"}, func(server string) bool {
				cmd := exec.Command("tmux", "-L", server, "has-session", "-t", "="+name)
				cmd.Env = m.Env()
				return cmd.Run() == nil
			})
		}
	}
	session := func(name string, want bool, why string) {
		m.add(Thing{Kind: Session, Name: "session " + name, Place: name, Want: want, Why: why, There: has(name)})
	}
	tmux("new-session", "-d", "-s", "home", "-c", m.Home)
	session("home", false, "it is a person's own shell")

	for i, how := range []struct {
		name string
		args []string
	}{
		{"agent-env", []string{"-e", "CLAUDE_CODE_SESSION_ID=5e551002-0000-4000-8000-000000000002", "-e", "CLAUDECODE=1"}},
		{"agent-thread", []string{"-e", "CODEX_THREAD_ID=" + deadThread}},
		{"agent-command", []string{}},
		{"agent-command-2", []string{}},
	} {
		p := acme.worktree(filepath.Join(acme.path, ".claude", "worktrees", how.name), "worktree-"+how.name, 1)
		acme.land("worktree-"+how.name, squash)
		acme.old(p, 8*day)
		args := append([]string{"new-session", "-d", "-s", how.name, "-c", p}, how.args...)
		if len(how.args) == 0 {
			args = append(args, "-e", roleVar+"=quit", m.program("claude")+" 'do it'; exec sh")
		}
		tmux(args...)
		session(how.name, true, "an agent began it, in a worktree that landed, and is gone")
		m.folder(p, fmt.Sprintf("worktree of session %s, %d", how.name, i), true, "squashed; the session in it goes too")
	}
	mine := acme.worktree(acme.path+".mine", "mine", 1)
	acme.land("mine", squash)
	acme.old(mine, 8*day)
	tmux("new-session", "-d", "-s", "mine", "-c", mine)
	session("mine", false, "a person began it")
	m.folder(mine, "worktree in which a person's shell waits", false, "a person's shell waits in it")

	ends := []string{"-e", roleVar + "=quit"}
	for _, how := range []struct {
		name string
		want bool
		why  string
		args []string
	}{
		{"checkout", true, "an agent began it, in a main checkout, and is gone", append(ends, m.program("claude")+" 'do it'; exec sh")},
		{"aoe_idle_1a2b3c4d", true, "an orchestrator names it so, and no client was ever attached to it", nil},
		{"aoe_dead_1a2b3c4d", true, "what an orchestrator began in it has ended", []string{"exit 3", ";", "set-option", "-p", "remain-on-exit", "on"}},
		{"dead", true, "the agent that it was started with has ended", append(ends, "exec "+m.program("claude"), ";", "set-option", "-p", "remain-on-exit", "on")},
		{"half", false, "a person's shell waits beside what has ended", append(ends, "exec "+m.program("claude"), ";", "set-option", "-p", "remain-on-exit", "on", ";",
			"split-window", "-d")},
		{"night", false, "its person has not read yet what it says", []string{"echo the result", ";", "set-option", "-p", "remain-on-exit", "on"}},
	} {
		tmux(append([]string{"new-session", "-d", "-s", how.name, "-c", acme.path}, how.args...)...)
		session(how.name, how.want, how.why)
	}
	env = append(m.Env(), "CLAUDE_CODE_SESSION_ID=5e551002-0000-4000-8000-000000000002")
	tmux("-L", "agents", "new-session", "-d", "-s", "first", "-c", acme.path)
	env = m.Env()
	session("first", true, "an agent began it and the server, and is gone")
	tmux("-L", "agents", "new-session", "-d", "-s", "later", "-c", acme.path)
	session("later", false, "a person began it on the server that an agent began")
	theirs, err := strconv.Atoi(tmux("-L", "agents", "display-message", "-p", "#{pid}"))
	m.must(err)
	m.t.Cleanup(func() { _ = unix.Kill(theirs, unix.SIGKILL) })

	tmux("new-session", "-d", "-s", "work", "-c", m.Home, "-e", roleVar+"=wait", "exec "+m.program("vim")+" notes")
	session("work", false, "a person edits in it")
	tmux("new-session", "-d", "-s", "ide", "-c", m.Home, "-e", "CLAUDECODE=1", "-e", roleVar+"=wait", "exec "+m.program("make")+" all")
	session("ide", false, "a person's build in an editor's terminal, where the editor sets CLAUDECODE")
	pid, err := strconv.Atoi(tmux("list-panes", "-t", "=ide:", "-F", "#{pane_pid}"))
	m.must(err)
	m.process(pid, "a person's build in an editor's terminal", false, "CLAUDECODE there is the editor's")

	// A person's own background job, begun where the editor sets CLAUDECODE, and handed to init.
	shell := m.starter(m.program("bash"), m.Home, "CLAUDECODE=1")
	for _, role := range []string{"wait", "busy"} {
		pid := shell.tell(order{Argv: []string{m.program("backup"), role}, Dir: m.Home, Away: true, Env: []string{"CLAUDECODE=1"}}, role)
		m.process(pid, "a person's background job, "+role, false, "CLAUDECODE there is the editor's")
	}
	shell.kill()
	server, err := strconv.Atoi(tmux("display-message", "-p", "#{pid}"))
	m.must(err)
	m.process(server, "tmux's server", false, "it holds people's sessions")
	m.t.Cleanup(func() { _ = unix.Kill(server, unix.SIGKILL) })
	wait.Eventually(m.t, "sleep and vitest", func() bool {
		for _, t := range m.Things {
			if pid, err := strconv.Atoi(t.Place); t.Kind == Process && (err != nil || !procs.Lives(pid)) {
				return false
			}
		}
		return true
	})
	time.Sleep(200 * time.Millisecond) // shells reach their prompts
}
