package machine

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func (d *Drawing) tmux(args ...string) string {
	d.t.Helper()
	cmd := exec.Command("tmux", args...)
	cmd.Env = d.Env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("tmux %q: %v %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// session starts a detached session, and gives the part that it is. server is "" for the default one, or what -L
// takes.
func (d *Drawing) session(server, name, dir string, args ...string) Thing {
	d.t.Helper()
	on := []string{}
	if server != "" {
		on = []string{"-L", server}
	}
	d.tmux(append(append(on, "new-session", "-d", "-s", name, "-c", dir), args...)...)
	pid, err := strconv.Atoi(d.tmux(append(on, "display-message", "-p", "#{pid}")...))
	d.must(err)
	d.t.Cleanup(func() { _ = unix.Kill(pid, unix.SIGKILL) })
	return Thing{Kind: Session, Name: "session", Place: name, There: func() bool {
		cmd := exec.Command("tmux", append(on, "has-session", "-t", "="+name)...)
		cmd.Env = d.Env()
		return cmd.Run() == nil
	}}
}

func (d *Drawing) panePID(name string) int {
	d.t.Helper()
	pid, err := strconv.Atoi(d.tmux("list-panes", "-t", "="+name+":", "-F", "#{pane_pid}"))
	d.must(err)
	return pid
}

func (d *Drawing) format(target, format, want string) {
	d.t.Helper()
	wait.Eventually(d.t, format+" of "+target, func() bool {
		return d.tmux("display-message", "-p", "-t", target,
			format) == want
	})
}

func (d *Drawing) terminals() {
	main := d.acme.path
	claude, quit, waits := d.program("claude"), roleVar+"=quit", roleVar+"=wait"
	marks := func(args ...string) (out []string) {
		for _, e := range d.dead.env(true) {
			out = append(out, "-e", e)
		}
		return append(out, args...)
	}
	keepAlive := []string{"-e", quit, claude + " 'do it'; exec sh"}
	d.session("", "main", d.Home) // a person's, and the first: the server's environment is a person's

	d.gone("keep-alive shell",
		"an orchestrator began it with the agent; the agent ended, a shell was left in the landed worktree",
		d.session("", "acme-fix-1", d.landed("fix-1", squash), keepAlive...))

	d.tmux("set-option", "-g", "remain-on-exit", "on")
	husk := d.session("", "ag-claude-04a1307c", main, "-e", quit, claude+" 'do it'")
	two := d.landed("two", squash)
	d.format("=ag-claude-04a1307c:", "#{pane_dead}", "1")
	pair := d.session("", "acme-two", two, "-e", quit, claude+" 'do it'")
	d.tmux("split-window", "-t", "=acme-two:", "-c", two)
	deploy := d.session("", "deploy", d.Home, "-e", quit, d.program("make")+" deploy")
	d.format("=acme-two:0.0", "#{pane_dead}", "1")
	d.format("=deploy:", "#{pane_dead}", "1")
	for _, s := range []string{"ag-claude-04a1307c", "acme-two", "deploy"} {
		d.tmux("set-option", "-w", "-t", "="+s+":", "remain-on-exit", "on")
	}
	d.tmux("set-option", "-g", "remain-on-exit", "off")
	d.gone("dead pane",
		"the agent was its only program and has ended; remain-on-exit keeps it (126 of them in one report)", husk)

	p := d.acme.worktree(d.inside("deleted"), "worktree-deleted", 0)
	s := d.session("", "acme-deleted", p)
	d.acme.git(main, "worktree", "remove", "--force", p)
	d.gone("deleted folder", "an idle shell whose worktree was deleted; never attached", s)

	p = d.landedAt(d.Path(".claude-squad", "worktrees", "fix_17"), "u/fix", squash)
	s = d.session("", "claudesquad_fix", p, "-e", quit)
	d.tmux("send-keys", "-t", "=claudesquad_fix:", "claude", "Enter")
	d.gone("orchestrator's session", "its worktree landed and its agent ended", s)

	d.gone("in the main checkout", "an agent that has ended made it; a shell idles in it; never attached",
		d.session("", "scratch", main, marks()...))

	server := "claude-swarm-3999997"
	d.gone("hidden server", "a team's own server; the Claude that its name names has ended, shells idle",
		d.session(server, "claude-swarm", main, marks()...))
	d.gone("two panes", "one of a dead agent, one of an idle shell, in a landed worktree", pair)

	d.program("npm")
	d.gone("crashed dev server", "a tool of a dead agent began it; npm has ended, a shell idles",
		d.session("", "devserver", main,
			marks("-e", quit, "npm run dev; exec sh")...))

	base := d.session("", "acme-base", d.landed("base", squash), keepAlive...)
	d.tmux("new-session", "-d", "-t", "=acme-base", "-s", "web_1")
	web := Thing{Kind: Session, Name: "session", Place: "web_1", There: func() bool {
		cmd := exec.Command("tmux", "has-session", "-t", "=web_1")
		cmd.Env = d.Env()
		return cmd.Run() == nil
	}}
	d.gone("grouped viewer", "a web page's view of a session as keep-alive shell; without a client", base, web)

	d.gone("pager", "an agent's git log waits in less, in a landed worktree; the agent ended, never attached",
		d.session("", "log", d.landed("log", squash), marks("less shared.txt")...))

	s = d.session("", "seen", d.Home)
	d.terminal(d.Home, nil, "tmux", "attach-session", "-t", "=seen")
	d.format("=seen:", "#{session_attached}", "1")
	d.stays("attached", "a person's terminal shows it", s)
	d.stays("a person's shell", "it waits in the home folder",
		Thing{Kind: Session, Name: "session", Place: "main", There: func() bool {
			cmd := exec.Command("tmux", "has-session", "-t", "=main")
			cmd.Env = d.Env()
			return cmd.Run() == nil
		}})
	runs := func(name, dir, program, arg string) []Thing {
		s := d.session("", name, dir, "-e", waits, "exec "+d.program(program)+" "+arg)
		return []Thing{s, pidPart(d.panePID(name))}
	}
	d.stays("a person's editor", "its buffer is unsaved", runs("edit", d.Home, "nvim", "notes.md")...)
	d.stays("idle agent", "it waits for its user", runs("agent", main, "claude", "")...)
	d.stays("training", "a person's program that sleeps between its steps",
		runs("train", d.Home, "python3", "train.py")...)
	d.stays("ssh", "a person's way to another machine", runs("far", d.Home, "ssh", "far")...)

	p = d.landed("next-order", squash)
	d.stays("agent in a landed worktree", "it waits for the next order",
		append(runs("next", p, "claude", ""), dirPart(p))...)

	p = d.landed("stopped", squash)
	s = d.session("", "stopped", p, "-e", waits)
	d.program("vim")
	d.tmux("send-keys", "-t", "=stopped:", "vim shared.txt", "Enter")
	vim := d.below(d.panePID("stopped"), "vim")
	d.tmux("send-keys", "-t", "=stopped:", "C-z")
	wait.Eventually(d.t, "the editor stops", func() bool { return procs.State(vim) == 'T' })
	d.stays("stopped job", "a person's editor that Ctrl-Z stopped, in a landed worktree", s, pidPart(vim), dirPart(p))
	d.stays("a person's dead pane", "what make deploy printed is still to be read", deploy)

	d.write(filepath.Join(d.Path("notes"), "today.md"), "notes\n")
	d.stays("name trap", "claude-notes is a person's session, and no agent ever ran in it",
		d.session("", "claude-notes", d.Path("notes")))
}
