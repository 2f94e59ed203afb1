package soak_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/test/kit/herdr"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/tmux"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// thing is one thing of the world. While kept says why, it must be there, and as it was; after that it should go.
type thing struct {
	name, kept string
	there      func() bool
	// loosen takes away what keeps it, and reports whether that could be done.
	loosen func()
}

// world is a made-up machine that changes.
type world struct {
	t    *testing.T
	rnd  *rand.Rand
	seed uint64
	n    int

	home, state, config, metrics, program string
	env                                   []string
	mounted                               bool

	things map[string]*thing
	// workers is the registry: who owns which worktree.
	workers []worker
	tmux    *tmux.Server
	herdr   *herdr.Server
	tabs    string // the workspace of helpers' tabs
	d       *daemon

	steps   []string
	count   map[string]int
	skipped map[string]string
}

// configuration is that of the daemon. Waits are short, so that much happens; all else is as shipped.
const configuration = `version: 1
state: %[1]s/state
collect:
  tmux: {sockets: [%[1]s/t]}
  herdr: {sockets: [%[1]s/h]}
  vscode: {sockets: []}
  codev: {homes: []}
  registry: [{name: workers, format: json, path: %[1]s/workers.json}]
  dirs: {roots: [%[1]s/wt, %[1]s/more], agent_folders: [], discover: false}
policy: {paths: [%[1]s/rules]}
rules:
  grace: {dir: 3s, session: 3s, process: 3s, spawn: 0s}
  confirm_after: 400ms
  confirm_process_after: 400ms
  steady_for: 0s
  session_idle: %[2]s
  session_names: {prefix: [job-]}
act:
  enabled: true
  caps: {per_sweep: 1000, share: 1, share_from: 1000, per_owner: 1000}
  trash_ttl: 15s
  trash_pressure: 0
run:
  every: 1s
  settle: 100ms
  burst: 1s
  rest: 100ms
  share: 0.5
  full_every: 5
  pressure: {disk_free: 0, inodes_free: 0, memory: 0}
  metrics: {listen: "unix:%[1]s/m/s"}
`

// size is how much the file system has that the world is on, where one can be mounted, and sizePerHour what it has more for every hour: the ledger keeps every act. Both in MiB.
const size, sizePerHour = 128, 48

func newWorld(t *testing.T, rnd *rand.Rand, seed uint64, duration time.Duration) *world {
	t.Helper()
	home, err := os.MkdirTemp("/tmp", "soak-")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, rnd: rnd, seed: seed, home: home, things: map[string]*thing{}, count: map[string]int{}, skipped: map[string]string{}}
	err = unix.Mount("soak", home, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0700", size+int(sizePerHour*duration.Hours())))
	if w.mounted = err == nil; !w.mounted {
		w.skipped["the disk is full"] = "no file system can be mounted: " + err.Error()
	}
	t.Cleanup(func() {
		if w.mounted {
			_ = unix.Unmount(home, unix.MNT_DETACH)
		}
		_ = os.RemoveAll(home)
	})
	w.state, w.config, w.metrics = filepath.Join(home, "state"), filepath.Join(home, "config.yaml"), filepath.Join(home, "m", "s")
	w.env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TERM=xterm", "SHELL=/bin/sh", "XDG_RUNTIME_DIR=" + home, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost", "GOTRACEBACK=all"}
	for _, dir := range []string{"wt", "more", "rules", "bin", "m"} {
		w.must(os.Mkdir(filepath.Join(home, dir), 0o700))
	}
	w.write("config.yaml", fmt.Sprintf(configuration, home, "0s"))
	w.record("first", filepath.Join(home, "wt", "none"))
	w.write("rules/reap/dirs/scratch/scratch.rego", goodRules)
	// The program lies outside of the small file system, which is to be full.
	bin, err := os.MkdirTemp("/tmp", "soak-bin-")
	w.must(err)
	t.Cleanup(func() { _ = os.RemoveAll(bin) })
	w.program = filepath.Join(bin, "winnow")
	build := exec.Command("go", "build", "-o", w.program, "github.com/winnow-reaper/winnow/cmd/winnow")
	build.Dir = machine.Source()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build winnow: %v\n%s", err, out)
	}
	w.hideOwn()
	shell, err := os.ReadFile("/bin/sh")
	w.must(err)
	w.must(os.WriteFile(filepath.Join(home, "bin", "opencode"), shell, 0o755))
	w.git("init", "-q", "-b", "main", "project")
	w.git("-C", "project", "commit", "-q", "--allow-empty", "-m", "start")
	w.git("-C", "project", "branch", "saved")
	w.tmux = tmux.Start(t, filepath.Join(home, "t"), "keep")
	w.serveHerdr()
	return w
}

// hideOwn puts an empty folder, for this mount namespace alone, in the place of the one in which the user's own programs agree who acts and who pauses: the world's pause must not
// stop any other program, and no other one hold up the world.
func (w *world) hideOwn() {
	u, err := user.LookupId(strconv.Itoa(os.Geteuid()))
	if err != nil || !exists(u.HomeDir) {
		return // without a home there is nothing to share
	}
	dir := filepath.Join(u.HomeDir, ".local", "state", "winnow")
	for dir != u.HomeDir && !exists(dir) {
		dir = filepath.Dir(dir)
	}
	if err := unix.Mount("soak", dir, "tmpfs", 0, "size=1m,mode=0700"); err != nil {
		w.skipped["a pause"] = "this user's own programs would pause: " + err.Error()
		return
	}
	w.t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.fail("%v", err)
	}
}

// fail ends the test, with all that is needed to repeat it.
func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	wrote := ""
	if w.d != nil {
		wrote = w.d.wrote()
	}
	w.t.Fatalf("%s\nafter change %d; to repeat it: %s=%d\nthe last steps:\n%s\nthe daemon wrote last:\n%s", fmt.Sprintf(format, args...), w.n, seedVar, w.seed, strings.Join(w.steps, "\n"), wrote)
}

// step notes what is about to happen.
func (w *world) step(what string) {
	w.count[what]++
	w.steps = append(w.steps, fmt.Sprintf("%s %d %s", time.Now().Format("15:04:05.000"), w.n, what))
	w.steps = w.steps[max(0, len(w.steps)-40):]
}

func (w *world) eventually(what string, so func() bool) {
	w.t.Helper()
	if !wait.Until(wait.Patience, so) {
		w.fail("not yet: %s", what)
	}
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.home, name)
	w.must(os.MkdirAll(filepath.Dir(path), 0o700))
	w.must(os.WriteFile(path, []byte(text), 0o600))
}

func (w *world) try(program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir = w.env, w.home
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// git gives what git prints, without the last newline. It is asked again where it fails because another worktree of the repository goes while it reads the list of them, as it does beside
// git worktree remove.
func (w *world) git(args ...string) string {
	w.t.Helper()
	for tries := 0; ; tries++ {
		out, err := w.try("git", args...)
		if err == nil {
			return strings.TrimSpace(out)
		}
		if tries == 5 || !strings.Contains(out, "/.git/worktrees/") {
			w.fail("git %q: %v: %s", args, err, out)
		}
	}
}

// save makes a worktree's commit a part of the branch saved. One branch for all: that there are more and more branches would itself make sweeps slower.
func (w *world) save(tree string) {
	w.t.Helper()
	w.git("-C", "project", "update-ref", "refs/heads/saved", w.git("-C", "project", "commit-tree", "-m", "saved", "-p", "saved", "-p", w.git("-C", tree, "rev-parse", "HEAD"), "main^{tree}"))
}

// winnow runs the program as a person does beside the daemon. What it answers with an error is given all the same.
func (w *world) winnow(args ...string) string {
	out, _ := w.try(w.program, append([]string{args[0], "--config", w.config}, args[1:]...)...)
	return out
}

func (w *world) mustWinnow(args ...string) {
	w.t.Helper()
	if out, err := w.try(w.program, append([]string{args[0], "--config", w.config}, args[1:]...)...); err != nil {
		w.fail("winnow %q: %v: %s", args, err, out)
	}
}

// releaseBrakes is what a person does who has seen why they tripped: here a source was ended on purpose.
func (w *world) releaseBrakes() { w.winnow("brakes", "release") }

func (w *world) add(t *thing) { w.things[t.name] = t }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// start starts a process that only waits. It is a child of the test.
func (w *world) sleeps(dir string) *exec.Cmd {
	w.t.Helper()
	cmd := exec.Command("sleep", strconv.Itoa(100_000+w.n))
	cmd.Env, cmd.Dir = w.env, dir
	w.must(cmd.Start())
	go func() { _ = cmd.Wait() }()
	return cmd
}

// worker is an entry of the registry.
type worker struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Path   string `json:"path"`
}

// record has the registry name a worker, or, with the path "", name it no more.
func (w *world) record(id, path string) {
	w.t.Helper()
	w.workers = slices.DeleteFunc(w.workers, func(x worker) bool { return x.ID == id })
	if path != "" {
		w.workers = append(w.workers, worker{id, "running", path})
	}
	text, err := json.Marshal(w.workers)
	w.must(err)
	w.write("workers.json.new", string(text))
	w.must(os.Rename(filepath.Join(w.home, "workers.json.new"), filepath.Join(w.home, "workers.json")))
}

// newTree makes a worktree. It has some seconds, in which it is young, to become one with something in it.
func (w *world) newTree() *thing {
	w.t.Helper()
	path := filepath.Join(w.home, "wt", fmt.Sprintf("project-review-%08x", w.n))
	w.git("-C", "project", "worktree", "add", "-q", "--detach", path)
	t := &thing{name: path, there: func() bool { return exists(path) }}
	w.add(t)
	return t
}

// The things that come.
var comings = []struct {
	name string
	do   func(w *world)
}{
	{"a worktree", func(w *world) { w.newTree() }},
	{"a folder", func(w *world) {
		path := filepath.Join(w.home, "more", fmt.Sprintf("project-review-%08x", w.n))
		w.git("-C", "project", "worktree", "add", "-q", "--detach", path)
		w.add(&thing{name: path, there: func() bool { return exists(path) }})
	}},
	{"a worktree with a new file", func(w *world) {
		t := w.newTree()
		file := filepath.Join(t.name, "work")
		w.must(os.WriteFile(file, []byte(t.name), 0o600))
		t.kept = "a file in it is work"
		t.there = func() bool {
			text, err := os.ReadFile(file)
			return t.kept == "" && exists(t.name) || err == nil && string(text) == t.name
		}
		t.loosen = func() { w.must(os.Remove(file)) }
	}},
	{"a worktree with a commit", func(w *world) {
		t := w.newTree()
		w.git("-C", t.name, "commit", "-q", "--allow-empty", "-m", t.name)
		t.kept = "a commit in it is nowhere else"
		t.loosen = func() { w.save(t.name) }
	}},
	{"a worktree that is locked", func(w *world) {
		t := w.newTree()
		w.git("-C", "project", "worktree", "lock", t.name)
		t.kept = "it is locked"
		t.loosen = func() { w.git("-C", "project", "worktree", "unlock", t.name) }
	}},
	{"a worktree that a worker owns", func(w *world) {
		t := w.newTree()
		id := strconv.Itoa(w.n)
		w.record(id, t.name)
		t.kept = "a registry records it"
		t.loosen = func() { w.record(id, "") }
	}},
	{"a worktree that is held", func(w *world) {
		t := w.newTree()
		w.mustWinnow("retain", "dir:"+t.name, "--reason", "later")
		t.kept = "a person holds it"
		t.loosen = func() { w.mustWinnow("release", "dir:"+t.name) }
	}},
	{"a worktree in which somebody works", func(w *world) {
		t := w.newTree()
		user := w.sleeps(t.name)
		t.kept = "a process works in it"
		t.there = func() bool { return exists(t.name) && (t.kept == "" || procs.Lives(user.Process.Pid)) }
		t.loosen = func() { _ = user.Process.Kill() }
	}},
	{"a session", func(w *world) { w.session("sh").kept = "" }},
	{"a session in which a program runs", func(w *world) { w.session("sleep " + strconv.Itoa(100_000+w.n)) }},
	{"an agent", func(w *world) { w.agent() }},
	{"a tab", func(w *world) { w.tab() }},
	{"a tab in which a program runs", func(w *world) { w.tab("sleep", strconv.Itoa(100_000+w.n)) }},
}

// session is one of tmux; it is kept until its program ends, which then leaves a shell.
func (w *world) session(program string) *thing {
	w.t.Helper()
	name := fmt.Sprintf("job-%d", w.n)
	w.tmux.Run("new-session", "-d", "-x", "80", "-y", "24", "-s", name, "-c", w.home)
	t := &thing{name: "session " + name, there: func() bool { return w.tmux.Has(name) }}
	if program != "sh" {
		w.tmux.Run("send-keys", "-t", "="+name+":", program, "Enter")
		w.eventually("a program in tmux", func() bool {
			return w.tmux.Run("display-message", "-p", "-t", "="+name+":", "#{pane_current_command}") == "sleep"
		})
		t.kept = "a program runs in it"
		t.loosen = func() { w.tmux.Run("send-keys", "-t", "="+name+":", "C-c") }
	}
	w.add(t)
	return t
}

// agent is a program that is called as an agent's, and a child of it that outlives it.
func (w *world) agent() {
	w.t.Helper()
	agent := exec.Command(filepath.Join(w.home, "bin", "opencode"), "-c",
		fmt.Sprintf("OPENCODE=1 AGENT=1 OPENCODE_PID=$$ setsid sleep %d >/dev/null 2>&1 </dev/null & echo $!; read line", 100_000+w.n))
	agent.Env, agent.Dir = w.env, w.home
	in, err := agent.StdinPipe()
	w.must(err)
	out, err := agent.StdoutPipe()
	w.must(err)
	w.must(agent.Start())
	var child int
	if _, err := fmt.Fscan(out, &child); err != nil {
		w.fail("an agent did not start: %v", err)
	}
	t := &thing{name: fmt.Sprintf("process %d of an agent", child), kept: "its agent lives"}
	t.there = func() bool { return procs.Lives(child) && (t.kept == "" || procs.Lives(agent.Process.Pid)) }
	t.loosen = func() { _ = in.Close(); _ = agent.Process.Kill(); _ = agent.Wait() }
	w.eventually("the agent's child runs", func() bool { return procs.Name(child) == "sleep" })
	w.add(t)
}

func (w *world) serveHerdr() {
	w.t.Helper()
	s, err := herdr.New(herdr.Options{Socket: filepath.Join(w.home, "h")})
	w.must(err)
	w.t.Cleanup(func() { _ = s.Close() })
	w.herdr = s
	w.herdr.Tab(w.herdr.Workspace("person"), "mine")
	w.tabs = w.herdr.Workspace("helpers")
	w.herdr.Tab(w.tabs, "main")
}

// tab is a helper's tab in herdr; with a program it is kept until that ends, which leaves a shell.
func (w *world) tab(program ...string) {
	w.t.Helper()
	s := w.herdr
	id := s.Tab(w.tabs, fmt.Sprintf("review TASK-%d", w.n))
	t := &thing{name: "tab " + id + " " + strconv.Itoa(w.n), there: func() bool { return s.HasTab(id) }}
	if len(program) > 0 {
		pane := s.Panes(id)[0]
		s.Type(pane.ID, strings.Join(program, " ")+"\n")
		w.eventually("a program in herdr", func() bool {
			return slices.ContainsFunc(procs.Session(pane.PID), func(p procs.Process) bool { return p.Name == program[0] && p.Foreground == p.Group })
		})
		t.kept = "a program runs in it"
		t.loosen = func() { s.Type(pane.ID, "\x03") }
	}
	w.add(t)
}

// most is how many things there are at a time, kept ones and others.
const most = 24

// change does one thing to the world.
func (w *world) change() {
	w.n++
	var kept []string
	for _, name := range slices.Sorted(maps.Keys(w.things)) {
		if w.things[name].kept != "" {
			kept = append(kept, name)
		}
	}
	if len(w.things) < most && (len(kept) < 4 || w.rnd.IntN(3) > 0) {
		c := comings[w.rnd.IntN(len(comings))]
		w.step(c.name)
		c.do(w)
		return
	}
	if len(kept) > 0 {
		w.loosen(w.things[kept[w.rnd.IntN(len(kept))]])
	}
}

// loosen makes of a thing that must stay one that should go.
func (w *world) loosen(t *thing) {
	w.step("no longer: " + t.kept + ": " + t.name)
	if !t.there() {
		w.fail("%s is not there, or not as it was, though %s", t.name, t.kept)
	}
	t.loosen()
	t.kept = ""
}

// check holds that everything is there that must be, and forgets what has gone.
func (w *world) check() {
	w.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(w.things)) {
		switch t := w.things[name]; {
		case t.there():
		case t.kept != "":
			w.fail("%s is gone, or not as it was, though %s\n%s", name, t.kept, w.winnow("history"))
		default:
			delete(w.things, name)
		}
	}
	if !w.tmux.Has("keep") {
		w.fail("a session outside of all names is gone")
	}
	if len(w.herdr.Tabs()) < 2 {
		w.fail("a person's tab is gone: %v", w.herdr.Tabs())
	}
}

// forget drops all things whose names begin so: what held them was ended by the test.
func (w *world) forget(prefix string) {
	for name := range w.things {
		if strings.HasPrefix(name, prefix) {
			delete(w.things, name)
		}
	}
}

// letAllGo takes away what keeps things.
func (w *world) letAllGo() {
	for _, name := range slices.Sorted(maps.Keys(w.things)) {
		if t := w.things[name]; t.kept != "" {
			w.loosen(t)
		}
	}
}

// left are the things that are still there.
func (w *world) left() (out []string) {
	for _, name := range slices.Sorted(maps.Keys(w.things)) {
		if w.things[name].there() {
			out = append(out, name)
		}
	}
	return out
}

// kinds says what happened how often.
func (w *world) kinds() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(w.count)) {
		if !strings.HasPrefix(name, "no longer") {
			out = append(out, fmt.Sprintf("%s %d", name, w.count[name]))
		}
	}
	return out
}
