// Package e2e reads the console in a real browser: light, dark, with the keyboard alone, in a narrow window, without JavaScript, with 5,000 rows and hostile names.
//
// It needs what install.sh installs (in WINNOW_CONSOLE_E2E, or .cache beside it), Node.js and Chromium; without them it is skipped.
package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// within is how long all scenarios may take together, on a machine with much to do.
const within = 4 * wait.Patience

// needs are the programs, or why the test is skipped.
func needs(t *testing.T) (cache, node, chromium string) {
	t.Helper()
	cache = os.Getenv("WINNOW_CONSOLE_E2E")
	if cache == "" {
		cache = ".cache"
	}
	cache = must.Get(filepath.Abs(cache))(t)
	for _, name := range []string{"playwright-core", "axe-core"} {
		if _, err := os.Stat(filepath.Join(cache, "node_modules", name, "package.json")); err != nil {
			t.Skipf("there is no %s: internal/console/e2e/install.sh installs it", name)
		}
	}
	for name, path := range map[string]*string{"node": &node, "chromium": &chromium} {
		var err error
		if *path, err = exec.LookPath(name); err != nil {
			t.Skipf("there is no %s on PATH", name)
		}
	}
	return cache, node, chromium
}

// world is a home with real worktrees, and a console that shows it.
type world struct {
	dir, url string
	env      []string
}

func newWorld(t *testing.T, program string, fill func(w *world)) *world {
	t.Helper()
	w := &world{dir: must.Get(filepath.EvalSymlinks(t.TempDir()))(t)}
	w.env = append([]string{}, "PATH="+os.Getenv("PATH"), "HOME="+w.dir, "XDG_RUNTIME_DIR="+w.dir, "LC_ALL=C.UTF-8", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost")
	must.Do(t, os.MkdirAll(filepath.Join(w.dir, "wt"), 0o700))
	must.Do(t, os.WriteFile(filepath.Join(w.dir, "config.yaml"), fmt.Appendf(nil, `version: 1
state: %[1]s/state
collect:
  tmux: {sockets: []}
  herdr: {sockets: []}
  vscode: {sockets: []}
  shepherd: {stores: []}
  claude: {sessions: []}
  codex: {threads: []}
  codev: {homes: []}
  dirs: {roots: [%[1]s/wt], agent_folders: [], discover: false}
rules: {grace: {dir: 0s}, steady_for: 0s}
act: {kinds: [dir]}
`, w.dir), 0o600))
	fill(w)
	cmd := exec.Command(program, "console", "--config", filepath.Join(w.dir, "config.yaml"))
	cmd.Dir, cmd.Env = w.dir, w.env
	var said strings.Builder
	cmd.Stderr = &said
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("winnow console: %v: %s", err, said.String())
		}
	})
	line := must.Get(bufio.NewReader(out).ReadString('\n'))(t)
	w.url = strings.TrimSpace(line)
	return w
}

func (w *world) run(t *testing.T, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
}

// TestTheConsoleInABrowser has a driver do what a person does, in every way in which people do it.
func TestTheConsoleInABrowser(t *testing.T) {
	stage.NeedSecond(t, "it needs a browser")
	cache, node, chromium := needs(t)
	program := filepath.Join(t.TempDir(), "winnow")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/winnow-reaper/winnow/cmd/winnow").CombinedOutput(); err != nil {
		t.Fatalf("build winnow: %v\n%s", err, out)
	}
	small := newWorld(t, program, func(w *world) {
		w.run(t, "git", "init", "-q", "-b", "main", "project")
		w.run(t, "git", "-C", "project", "commit", "-q", "--allow-empty", "-m", "start")
		for _, name := range []string{"project-review-1a2b3c4d", "project-review-2a2b3c4d", "project-review-3a2b3c4d", "project-review-4a2b3c4d"} {
			w.run(t, "git", "-C", "project", "worktree", "add", "-q", "--detach", "../wt/"+name)
		}
		must.Do(t, os.WriteFile(filepath.Join(w.dir, "wt/project-review-4a2b3c4d/new.txt"), []byte("work"), 0o600))
		for i, name := range []string{"<img src=x onerror=pwned=1>", `"><svg onload=pwned=1><`, "bidi\u202egnp.exe", "ctrl\x1b[31m\x07", "line\nbreak", "bad\xff\xfe", strings.Repeat("long", 55)} {
			must.Do(t, os.Mkdir(filepath.Join(w.dir, "wt", fmt.Sprintf("%s-review-%08x", name, i)), 0o700))
		}
		w.run(t, program, "sweep", "--config", "config.yaml", "--apply", "--max", "1", "--kind", "dir")
	})
	large := newWorld(t, program, func(w *world) {
		for i := range 5000 {
			must.Do(t, os.Mkdir(filepath.Join(w.dir, "wt", fmt.Sprintf("job-review-%08x", i)), 0o700))
		}
	})

	settings := must.Get(json.Marshal(map[string]any{
		"chromium": chromium, "winnow": program, "url": small.url, "many": large.url, "dir": small.dir, "env": small.env, "shots": os.Getenv("WINNOW_CONSOLE_SHOTS"),
	}))(t)
	cmd := exec.CommandContext(wait.Within(t, within), node, "driver.mjs", filepath.Join(cache, "node_modules"))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LC_ALL=C.UTF-8"}
	cmd.Stdin = strings.NewReader(string(settings))
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	ran := 0
	for line := range strings.Lines(string(out)) {
		var scenario struct {
			Name   string
			Took   float64
			Wrong  []string
			Checks int
		}
		must.Do(t, json.Unmarshal([]byte(line), &scenario))
		ran++
		t.Run(scenario.Name, func(t *testing.T) {
			t.Logf("%d checks in %.1fs", scenario.Checks, scenario.Took)
			if scenario.Checks == 0 {
				t.Error("it checked nothing")
			}
			for _, wrong := range scenario.Wrong {
				t.Error(wrong)
			}
		})
	}
	if err != nil || ran != 12 {
		t.Fatalf("%d of 12 scenarios ran: %v: %s", ran, err, errors.String())
	}
}
