package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// TestWindowsComeAndGo has two windows, one that is loaded again, one whose extension host is killed, and a Tower that goes down and comes back.
func TestWindowsComeAndGo(t *testing.T) {
	b := newBench(t, settings{sweep: true})
	one, two := b.open(b.workspace("one")), b.open(b.workspace("two"))
	b.eventually("both windows are served", func() bool { return len(b.sockets()) == 2 })
	one.ask(map[string]any{"call": "shell", "name": "Claude Code"}) // an agent's, by its name, and alive
	s := two.builder(builder, tab)
	one.eventually("the shell runs", func() bool { return one.pid("Claude Code") > 0 })
	shell := one.pid("Claude Code")
	one.stays(5*time.Second, "Claude Code") // an editor writes its terminals down a moment later, and a reloaded page shows those that are

	before := b.sockets()
	b.driver.call(map[string]any{"call": "reload", "window": one.name})
	b.eventually("the reloaded window is served under another name", func() bool {
		now := b.sockets()
		return len(now) == 2 && !slices.Equal(now, before) && one.answers()
	})
	one.eventually("the editor shows the shell again, by any name", func() bool { return one.shows(shell) })
	for range 6 {
		time.Sleep(time.Second)
		if !alive(shell) || !one.shows(shell) {
			t.Fatalf("the shell (pid %d) is alive: %v; the window has %q", shell, alive(shell), one.names())
		}
	}

	b.tower.Down()
	two.cleanUp(builder, s)
	two.stays(8*time.Second, tab)
	b.tower.Up()
	two.closes(tab)

	again := two.builder("builder-pir-884", "Codev: builder-pir-884")
	before = b.sockets()
	must.Do(t, syscall.Kill(int(two.ask(map[string]any{"call": "host"}).(float64)), syscall.SIGKILL))
	two.cleanUp("builder-pir-884", again)
	b.eventually("the editor starts another extension host, which is another window", func() bool { return two.answers() && len(b.sockets()) == 3 })
	for range 3 {
		r := b.look("--apply")
		if n := r.absent(before); n != 1 || r.closed() > 0 {
			t.Errorf("%d windows of before are absent, want 1; acts %v, want none on a tab", n, r.Acts)
		}
		time.Sleep(1500 * time.Millisecond) // rules.confirm_after
	}
	two.stays(time.Second, "Codev: builder-pir-884") // the other host was not told what it was opened for
	if !alive(shell) || !one.shows(shell) {
		t.Error("the shell of the other window was ended")
	}

	old := time.Now().Add(-2 * time.Minute)
	for _, path := range before {
		must.Do(t, os.Chtimes(path, old, old))
	}
	b.driver.call(map[string]any{"call": "reload", "window": two.name})
	b.eventually("the socket of the host that was killed is removed, and that of the other window is not", func() bool {
		now := b.sockets()
		return len(now) == 2 && slices.ContainsFunc(before, func(path string) bool { return slices.Contains(now, path) })
	})
}

// agent is a program that goes by an agent's name, starts what outlives it, and ends when the file goes is there.
const agent = `#!/bin/bash
nohup sleep 300 >/dev/null 2>&1 &
echo $! > "$1/nohup"
setsid sleep 300 >/dev/null 2>&1 < /dev/null &
echo $! > "$1/setsid"
touch "$1/began"
while [ ! -e "$1/goes" ]; do sleep 0.2; done
exit 1
`

// TestAnAgentsTabCloses has two agents end in tasks, whose tabs an editor leaves open, and a person's shell beside them. Then it brings both tabs back.
func TestAnAgentsTabCloses(t *testing.T) {
	b := newBench(t, settings{sweep: true})
	w := b.open(b.workspace("acme"))
	w.ask(map[string]any{"call": "shell", "name": "mine"})
	review, deploy := w.agent("review"), w.agent("deploy")
	w.ask(map[string]any{"call": "show", "name": "mine"})
	w.stays(8*time.Second, "review", "deploy", "mine")
	for _, k := range []*task{review, deploy} {
		held := b.held(k.name) // else the extension may close the tab before the editor, which is busy, brings it to the front
		k.end()
		w.eventually("the tab, which is at the front, is kept for who reads it", func() bool {
			w.ask(map[string]any{"call": "show", "name": k.name})
			_, said := b.decision(k.name)
			return strings.Contains(said, "it is the focused tab")
		})
		if out, code := b.winnow("release", held); code != 0 {
			t.Fatalf("winnow release %s: exit %d: %s", held, code, out)
		}
		w.closesBehind(k.name, "mine")
	}
	for _, pid := range slices.Concat(review.children, deploy.children) {
		if !alive(pid) {
			t.Errorf("pid %d, which outlives its terminal, was ended", pid)
		}
	}
	w.stays(3*time.Second, "mine")

	if out, code := b.winnow("restore", b.act("review")); code != 0 || !strings.Contains(out, `("review")`) {
		t.Errorf("winnow restore: exit %d: %s", code, out)
	}
	w.reopened("review", review.folder)
	w.palette("Winnow: Restore the Last Terminal")
	w.reopened("deploy", deploy.folder)
}

// task is an agent's, in a folder of its own.
type task struct {
	w            *window
	name, folder string
	pid          int
	children     []int
}

// agent starts an agent as a task, and waits until it and what outlives it run.
func (w *window) agent(name string) *task {
	w.t.Helper()
	dir := filepath.Join(w.folder, name)
	must.Do(w.t, os.Mkdir(dir, 0o755))
	program := filepath.Join(w.dir, "bin", "claude")
	must.Do(w.t, os.WriteFile(program, []byte(agent), 0o700))
	w.ask(map[string]any{"call": "task", "name": name, "command": program, "args": []string{dir}, "cwd": dir})
	w.eventually("the agent runs", func() bool { return w.pid(name) > 0 && exists(filepath.Join(dir, "began")) })
	k := &task{w, name, dir, w.pid(name), []int{number(w.t, filepath.Join(dir, "nohup")), number(w.t, filepath.Join(dir, "setsid"))}}
	w.t.Cleanup(func() {
		for _, pid := range k.children {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return k
}

func (k *task) end() {
	k.w.t.Helper()
	must.Do(k.w.t, os.WriteFile(filepath.Join(k.folder, "goes"), nil, 0o600))
	k.w.eventually("the agent ends", func() bool { return !alive(k.pid) })
}

// held holds the tab of that name, and gives the tab's id.
func (b *bench) held(name string) string {
	b.t.Helper()
	for _, d := range b.look().Decisions {
		if d.Label == name && strings.HasPrefix(d.ID, "tab:vscode/") {
			if out, code := b.winnow("retain", d.ID, "--for", "1h", "--reason", "its agent ends"); code != 0 {
				b.t.Fatalf("winnow retain %s: exit %d: %s", d.ID, code, out)
			}
			return d.ID
		}
	}
	b.t.Fatalf("no tab is called %q", name)
	return ""
}

// act is the id of the act that closed the tab of that name, as the trash lists it.
func (b *bench) act(label string) string {
	b.t.Helper()
	out, code := b.winnow("trash", "--format", "json", "--log-level", "off")
	var trash struct {
		Acts []struct{ Intent struct{ ID, Label string } }
	}
	must.Do(b.t, json.Unmarshal([]byte(out), &trash))
	for _, row := range trash.Acts {
		if row.Intent.Label == label {
			return row.Intent.ID
		}
	}
	b.t.Fatalf("%q is not in the trash: exit %d: %s", label, code, out)
	return ""
}

// reopened asserts that a terminal of that name is open again, with a shell in that folder.
func (w *window) reopened(name, dir string) {
	w.t.Helper()
	var at string
	if !wait.Until(patience, func() bool {
		if w.has(name) {
			at, _ = os.Readlink("/proc/" + strconv.Itoa(w.pid(name)) + "/cwd")
		}
		return at == dir
	}) {
		w.t.Errorf("a shell called %q is in %q, want %q; there is %q", name, at, dir, w.names())
	}
}

// repository makes one with two worktrees, and has winnow look at them. The work of both is on main, and one holds a file of its own.
func (b *bench) repository() {
	b.t.Helper()
	const script = `git init -q -b main shop && cd shop && git commit -q --allow-empty -m start
for name in cart search; do git worktree add -q -b $name ../worktrees/$name && git -C ../worktrees/$name commit -q --allow-empty -m $name && git merge -q $name; done
echo 'ask bob first' >../worktrees/search/notes.md`
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = b.dir
	cmd.Env = append(slices.Clone(b.env), "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%v: %s", err, out)
	}
	config := filepath.Join(b.dir, "config/winnow/config.yaml")
	text := string(must.Get(os.ReadFile(config))(b.t))
	for _, c := range [][2]string{{"roots: []", "roots: [" + filepath.Join(b.dir, "worktrees") + "]"}, {"{terminal: 0s}", "{terminal: 0s, dir: 0s}, landed_after: 0s"}} {
		if !strings.Contains(text, c[0]) {
			b.t.Fatalf("the configuration has no %s", c[0])
		}
		text = strings.Replace(text, c[0], c[1], 1)
	}
	must.Do(b.t, os.WriteFile(config, []byte(text), 0o600))
}

// digits are what is another one each time.
var digits = regexp.MustCompile(`\d+`)

// TestWhatAPersonSees drives the view by keyboard, and takes pictures in three themes. WINNOW_E2E_PICTURE=1 writes the one that the extension's page shows, and which
// rows it shows.
func TestWhatAPersonSees(t *testing.T) {
	b := newBench(t, settings{sweep: false})
	b.repository()
	w := b.open(b.workspace("acme"))
	dead := w.builder("builder-pir-884", "Codev: builder-pir-884")
	w.cleanUp("builder-pir-884", dead)
	w.builder(builder, tab)
	w.eventually("the status bar says that a tab waits", func() bool { return strings.Contains(w.labels(".statusbar-item"), "Winnow: 1 waits for a second look") })
	w.palette("Winnow: Focus on Left Behind View")
	w.eventually("the view says why the tab stays", func() bool {
		return strings.Contains(w.labels(".monaco-list-row"), "its builder "+builder+" is on record")
	})
	w.eventually("the worktrees stand below", func() bool { return strings.Contains(w.labels(".monaco-list-row"), "Worktrees") })
	w.driver.call(map[string]any{"call": "click", "window": w.name, "selector": `.monaco-list-row:has-text("Worktrees")`})
	w.eventually("the worktrees are listed, each with its reason", func() bool {
		rows := w.labels(".monaco-list-row")
		return strings.Contains(rows, "cart, goes") && strings.Contains(rows, "search, stays: ")
	})
	shown := strings.TrimSpace(digits.ReplaceAllString(strings.ReplaceAll(w.labels(".monaco-list-row"), b.dir, "~"), "N")) + "\n"
	if os.Getenv("WINNOW_E2E_PICTURE") != "" {
		must.Do(t, os.WriteFile("../media/view.txt", []byte(shown), 0o644))
		w.driver.call(map[string]any{"call": "drag", "window": w.name, "from": 350, "to": 655, "y": 400}) // the edge of the side bar
		time.Sleep(time.Second)
		w.driver.call(map[string]any{"call": "shot", "window": w.name, "path": "../media/view.png", "clip": map[string]int{"x": 0, "y": 34, "width": 660, "height": 230}})
	} else if was := string(must.Get(os.ReadFile("../media/view.txt"))(t)); shown != was {
		t.Errorf("media/view.png shows what was there before: make pictures makes it again\nwas %s\nis %s", was, shown)
	}
	for name, theme := range map[string]string{"light": "Default Light+", "dark": "Default Dark+", "high-contrast": "Default High Contrast"} {
		w.ask(map[string]any{"call": "setting", "name": "workbench.colorTheme", "value": theme})
		time.Sleep(2 * time.Second)
		w.shot("view-" + name)
	}
	w.palette("Winnow: Explain Why")
	time.Sleep(time.Second)
	w.driver.call(map[string]any{"call": "type", "window": w.name, "text": "Codev"})
	time.Sleep(time.Second)
	w.driver.call(map[string]any{"call": "key", "window": w.name, "key": "Enter"})
	w.eventually("a read-only document explains it", func() bool {
		for _, v := range w.ask(map[string]any{"call": "documents"}).([]any) {
			if d := v.(map[string]any); d["scheme"] == "winnow" && strings.Contains(d["text"].(string), "is on record") {
				return true
			}
		}
		return false
	})
	w.shot("explain")
}

// TestPoliciesAreCheckedOnSave shows a refusal where it stands, and takes it away when it is mended.
func TestPoliciesAreCheckedOnSave(t *testing.T) {
	b := newBench(t, settings{sweep: false})
	dir := b.workspace("policies")
	file := filepath.Join(dir, "reap/tabs/mine/mine.rego")
	must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must.Do(t, os.WriteFile(file, []byte("package policies.reap.tabs.mine\n"), 0o644))
	w := b.open(dir)
	ours := func() (out []string) {
		for _, v := range w.ask(map[string]any{"call": "diagnostics"}).([]any) {
			if d := v.(map[string]any); d["source"] == "winnow policy check" && d["file"] == file {
				out = append(out, d["message"].(string))
			}
		}
		return out
	}
	w.ask(map[string]any{"call": "editDocument", "file": file, "text": "package policies.reap.tabs.mine\n\nin_scope if not input.tab.focused\n"})
	w.eventually("the refusal is shown", func() bool { return strings.Contains(strings.Join(ours(), "\n"), "not in a rule that reaps") })
	w.ask(map[string]any{"call": "editDocument", "file": file, "text": good})
	w.eventually("the refusal is gone", func() bool { return len(ours()) == 0 })
}

const good = `# METADATA
# title: Mine
# description: Tabs of mine.
# custom:
#   candidates: [helper_labels]
package policies.reap.tabs.mine

# METADATA
# title: In scope
# description: A tab that is called so.
in_scope if input.tab.label == "mine"

# METADATA
# title: Mine
# description: It is called so.
findings contains {
	"rule": "reap.tabs.mine",
	"message": "it is mine",
	"evidence": {},
} if in_scope
`
