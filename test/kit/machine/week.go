package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// MoveIn gives the machine a home with a short path, on a file system that only this namespace has.
func (m *Machine) MoveIn(home string) {
	m.t.Helper()
	m.must(os.MkdirAll(filepath.Dir(home), 0o755))
	m.must(unix.Mount("tests", filepath.Dir(home), "tmpfs", 0, "mode=0755"))
	m.Home, m.programs = home, filepath.Join(home, ".local", "bin")
	m.must(os.MkdirAll(m.programs, 0o755))
}

// Week fills the machine with what some days of work with agents leave in two repositories: few things of each sort, for a picture.
// One Claude lives, another one was killed.
func (m *Machine) Week() {
	m.t.Helper()
	m.write(m.Path(".gitconfig"), "[user]\n\tname = ann\n\temail = ann@example.org\n[init]\n\tdefaultBranch = main\n")
	acme, shop := m.repo(m.Path("code", "acme"), true), m.repo(m.Path("code", "shop"), true)
	living := m.claude("5e551001-0000-4000-8000-000000000001", acme.path)
	for _, w := range []struct {
		r               *repo
		name, how       string
		megabytes, days int
		change          func(path string)
	}{
		{acme, "fix-login", merged, 31, 8, nil},
		{acme, "retry-queue", merged, 24, 5, nil},
		{acme, "dark-mode", merged, 18, 3, nil},
		{acme, "docs-typo", merged, 2, 8, nil},
		{acme, "rate-limit", "", 12, 6, nil},
		{acme, "metrics", squash, 9, 4, func(p string) { m.write(filepath.Join(p, "shared.txt"), "half done\n") }},
		{shop, "cart", squash, 40, 8, nil},
		{shop, "checkout", merged, 22, 5, nil},
		{shop, "search", squash, 6, 2, func(p string) { m.write(filepath.Join(p, "notes.md"), "ask bob first\n") }},
		{shop, "coupons", squash, 4, 7, func(p string) {
			shop.git(shop.path, "worktree", "lock", "--reason", "for the demo on friday", p)
		}},
	} {
		p := w.r.worktree(filepath.Join(w.r.path, ".claude", "worktrees", w.name), w.name, 2)
		if w.how != "" {
			w.r.land(w.name, w.how)
		}
		m.write(filepath.Join(p, "node_modules", "vendor", "index.js"), strings.Repeat("x", w.megabytes<<20))
		if w.change != nil {
			w.change(p)
		}
		w.r.old(p, time.Duration(w.days)*day)
	}
	used := acme.worktree(filepath.Join(acme.path, ".claude", "worktrees", "upload"), "upload", 1)
	living.tool(order{Argv: []string{m.program("vitest"), "--watch"}, Dir: used}, "work")
	living.server("docs-mcp", acme.path)

	ended := m.claude("5e551002-0000-4000-8000-000000000002", shop.path)
	ended.server("browser-mcp", shop.path)
	ended.tool(order{Argv: []string{m.program("vite"), "--port", "5173"}, Dir: shop.path}, "listen")
	ended.tool(order{Argv: []string{m.program("esbuild"), "--watch"}, Dir: shop.path}, "wait")
	ended.kill()
	m.must(os.Mkdir(m.Path("tmux"), 0o700)) // TMUX_TMPDIR
	for _, s := range [][]string{
		{"shop-cart", "-c", shop.path, "-e", roleVar + "=quit", m.program("claude") + " 'fill the cart'; exec sh"},
		{"acme-docs", "-c", acme.path, "-e", roleVar + "=quit", m.program("claude") + " 'fix a typo'; exec sh"},
		{"ann", "-c", m.Home},
	} {
		m.tmux(append([]string{"new-session", "-d", "-s"}, s...)...)
		// A first look that comes before the shell asks for a command sees another session than the second one.
		wait.Eventually(m.t, "the prompt of "+s[0], func() bool {
			return m.tmux("display-message", "-p", "-t", "="+s[0]+":", "#{pane_current_command}") == "sh" && strings.ContainsAny(m.tmux("capture-pane", "-p", "-t", "="+s[0]+":"), "$#")
		})
	}
}

func (m *Machine) tmux(args ...string) string {
	m.t.Helper()
	cmd := exec.Command("tmux", args...)
	cmd.Env = m.Env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %q: %v %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}
