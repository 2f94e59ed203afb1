// Package attack_test plays an attacker against the real program.
package attack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// configWorld is a user's home with a configuration of their own, a repository that was cloned, and what an attacker is after.
type configWorld struct {
	winnow, home, clone string
	// worktree is a clean worktree that nothing but the user's own protected list keeps.
	worktree string
	env      []string
	calls    *atomic.Int64
	port     int
	// socket listens in the clone, as a multiplexer's server would.
	socket string
	victim *exec.Cmd
	secret string
}

func newConfigWorld(t *testing.T, winnow string) *configWorld {
	t.Helper()
	base, err := os.MkdirTemp(machine.Temp(), "winnow-clone-") // a short path: sockets have one of at most 107 bytes
	configCheck(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	w := &configWorld{winnow: winnow, home: filepath.Join(base, "home"), clone: filepath.Join(base, "clone"), calls: new(atomic.Int64), secret: fmt.Sprintf("SECRET_OF_%d", os.Getpid())}
	w.worktree = filepath.Join(base, "wt", "clone-review-1a2b3c4d")
	for _, d := range []string{"home/.config/winnow", "home/.agent-farm", "run", "t", "wt"} {
		configCheck(t, os.MkdirAll(filepath.Join(base, d), 0o700))
	}
	w.env = []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + filepath.Join(base, "run"), "TMUX_TMPDIR=" + filepath.Join(base, "t"),
		"LC_ALL=C.UTF-8", "TERM=dumb", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "CODEV_TOWER_KEY=the-tower-s-key"}
	w.git(t, "init", "-q", "-b", "main", w.clone)
	w.git(t, "-C", w.clone, "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "--allow-empty", "-m", "start")
	w.git(t, "-C", w.clone, "worktree", "add", "-q", "--detach", w.worktree)
	w.own(t, "**/clone-review-*")
	w.servers(t)
	// A process of the user's, under a name that no other process has, with a secret in its environment.
	program := filepath.Join(base, fmt.Sprintf("vic%d", os.Getpid()))
	executable.Copy(t, "/bin/sleep", program)
	w.victim = exec.Command(program, "300")
	w.victim.Env = []string{w.secret + "=hunter2"}
	configCheck(t, w.victim.Start())
	t.Cleanup(func() { _ = w.victim.Process.Kill(); _ = w.victim.Wait() })
	return w
}

// own writes the user's own configuration. It looks at nothing but the repository that the command runs in.
func (w *configWorld) own(t *testing.T, protected ...string) {
	t.Helper()
	text := fmt.Sprintf(`version: 1
collect: {herdr: {sockets: []}, vscode: {sockets: []}, shepherd: {stores: []}, codev: {homes: []}, processes: {markers: [WINNOW_ATTACK_NO_MARKER]}, dirs: {agent_folders: [], discover_from: []}}
rules: {protected: ['%s'], grace: {dir: 0s, process: 0s, session: 0s}, landed_after: 0s, steady_for: 0s}
act: {kinds: [dir], caps: {share: 1}}
`, strings.Join(protected, "', '"))
	configCheck(t, os.WriteFile(filepath.Join(w.home, ".config/winnow/config.yaml"), []byte(text), 0o600))
}

// servers count who speaks to the clone's port and to the clone's socket.
func (w *configWorld) servers(t *testing.T) {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	configCheck(t, err)
	w.port = tcp.Addr().(*net.TCPAddr).Port
	w.socket = filepath.Join(w.clone, "s")
	unix, err := net.Listen("unix", w.socket)
	configCheck(t, err)
	for _, l := range []net.Listener{tcp, unix} {
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				w.calls.Add(1)
				_ = c.Close()
			}
		}()
	}
}

func (w *configWorld) git(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = w.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// run runs winnow in a folder, and gives all that it said and its exit code; it may take half a minute at the most.
func (w *configWorld) run(dir string, args ...string) (string, int) {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.winnow, args...)
	cmd.Dir, cmd.Env = dir, w.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		return "it hangs: " + out.String(), -1
	}
	_ = err
	return out.String(), cmd.ProcessState.ExitCode()
}

// put writes a file of the clone's.
func (w *configWorld) put(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(w.clone, name)
	configCheck(t, os.MkdirAll(filepath.Dir(path), 0o755))
	configCheck(t, os.WriteFile(path, []byte(text), 0o644))
}

// files lists what lies in the clone, git's own objects left out, with when it was last written.
func (w *configWorld) files(t *testing.T) []string {
	t.Helper()
	var out []string
	configCheck(t, filepath.WalkDir(w.clone, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == ".git" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err == nil {
			out = append(out, fmt.Sprintf("%s %s %d", p, info.Mode(), info.Size()))
		}
		return err
	}))
	slices.Sort(out)
	return out
}

// wrong says what an attacker got, "" for nothing.
func (w *configWorld) wrong(before, after []string, said string) string {
	switch {
	case w.victim.Process.Signal(syscall.Signal(0)) != nil || configZombie(w.victim.Process.Pid):
		return "another process was ended"
	case w.calls.Load() > 0:
		return "a server that the clone named was spoken to"
	case !slices.Equal(before, after):
		return fmt.Sprintf("the clone was written to: %q became %q", before, after)
	case strings.Contains(said, "hunter2") || strings.Contains(said, w.secret):
		return "another process's secret was shown"
	}
	if _, err := os.Stat(w.worktree); err != nil {
		return "a folder that the user protects was taken"
	}
	if _, err := os.Stat(filepath.Join(w.clone, "ran")); err == nil {
		return "a program of the clone ran"
	}
	return ""
}

func configZombie(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, ok := strings.Cut(string(data), ") ")
	return err != nil || ok && strings.HasPrefix(after, "Z")
}

func configCheck(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// configEvil is a policy that wants the user's process gone, and the worktree.
const configEvil = `package policies.reap.%s.evil
import data.policies.lib.levels
in_scope if %s
findings contains {"rule": "reap.%s.evil", "message": "evil", "evidence": {}} if %s
`

// TestAttackAConfigurationInAClone runs every command in a clone that brings a config.yaml which wants to rule.
func TestAttackAConfigurationInAClone(t *testing.T) {
	t.Parallel()
	winnow := attack.Winnow(t)
	a := attack.New(t, "a clone's config.yaml names policies, markers, a state folder, a Tower, a tmux socket, or no protected list")
	for name, text := range map[string]func(w *configWorld) string{
		"policies that end another process": func(w *configWorld) string {
			is := fmt.Sprintf("input.process.name == %q", filepath.Base(w.victim.Path))
			w.put(t, "evil/reap/processes/evil/evil.rego", fmt.Sprintf(configEvil, "processes", is, "processes", is))
			return "policy: {paths: [./evil], embedded: false}\nact: {kinds: [process], caps: {share: 1}, term_grace: 1s}\ncollect: {dirs: {agent_folders: [], discover: false}, herdr: {sockets: []}, vscode: {sockets: []}, codev: {homes: []}}\n"
		},
		"markers and a state in the clone": func(w *configWorld) string {
			return "state: ./.cache\ncollect: {processes: {markers: [" + w.secret + "]}, dirs: {agent_folders: [], discover_from: []}, herdr: {sockets: []}, vscode: {sockets: []}, codev: {homes: []}}\nact: {kinds: []}\n"
		},
		"the Tower's port": func(w *configWorld) string {
			return fmt.Sprintf("collect: {codev: {homes: [auto], tower: 'http://127.0.0.1:%d'}, dirs: {agent_folders: [], discover_from: []}, herdr: {sockets: []}, vscode: {sockets: []}}\nact: {kinds: []}\n", w.port)
		},
		"a tmux socket": func(w *configWorld) string {
			return "collect: {tmux: {sockets: [./s]}, herdr: {sockets: []}, vscode: {sockets: []}, codev: {homes: []}, dirs: {agent_folders: [], discover_from: []}}\nact: {kinds: []}\n"
		},
		"a herdr socket": func(w *configWorld) string {
			return "collect: {tmux: {sockets: []}, herdr: {sockets: [./s]}, vscode: {sockets: []}, codev: {homes: []}, dirs: {agent_folders: [], discover_from: []}}\nact: {kinds: []}\n"
		},
		"an empty list of what is protected": func(w *configWorld) string {
			return "rules: {protected: [], grace: {dir: 0s}, landed_after: 0s, steady_for: 0s}\nact: {kinds: [dir], caps: {share: 1}}\ncollect: {herdr: {sockets: []}, vscode: {sockets: []}, codev: {homes: []}, dirs: {agent_folders: [], discover_from: []}}\n"
		},
	} {
		w := newConfigWorld(t, winnow)
		w.put(t, "config.yaml", "version: 1\n"+text(w))
		for _, dir := range []string{w.clone, filepath.Join(w.clone, "sub")} {
			configCheck(t, os.MkdirAll(dir, 0o755))
			if dir != w.clone {
				data, err := os.ReadFile(filepath.Join(w.clone, "config.yaml"))
				configCheck(t, err)
				w.put(t, "sub/config.yaml", string(data))
			}
			before := w.files(t)
			for _, args := range [][]string{{"sweep", "--format", "json"}, {"sweep", "--apply", "--format", "json"}, {"doctor"}, {"snapshot"}} {
				said, code := w.run(dir, args...)
				wrong := w.wrong(before, w.files(t), said)
				if wrong == "" && (code < 0 || code > 3 || args[0] == "sweep" && code != 0) {
					wrong = fmt.Sprintf("exit %d: %s", code, said)
				}
				if wrong != "" {
					wrong = name + ", winnow " + strings.Join(args, " ") + ": " + wrong
				}
				a.Check(wrong)
			}
		}
		said, _ := w.run(w.clone, "sweep")
		if !strings.Contains(said, "./config.yaml is not read") {
			t.Errorf("%s: no message says that the file is not read: %s", name, said)
		}
	}
}

// TestTheUsersOwnFileRules is the honest use beside it: the user's own file keeps the worktree, and without it the worktree goes.
func TestTheUsersOwnFileRules(t *testing.T) {
	t.Parallel()
	w := newConfigWorld(t, attack.Winnow(t))
	if said, code := w.run(w.clone, "sweep", "--apply", "--format", "json"); code != 0 || !strings.Contains(said, filepath.Join(w.home, ".config/winnow/config.yaml")) {
		t.Fatalf("exit %d, and the report does not name the file that ruled:\n%s", code, said)
	}
	if _, err := os.Stat(w.worktree); err != nil {
		t.Fatal("what the user protects was taken")
	}
	w.own(t, "/elsewhere")
	for range 20 { // while processes of the machine come and go, who uses the folder is not always known
		if said, code := w.run(w.clone, "sweep", "--apply"); code != 0 {
			t.Fatalf("exit %d:\n%s", code, said)
		}
		if _, err := os.Stat(w.worktree); err != nil {
			return
		}
	}
	t.Error("what was not protected was not taken, so the attacks beside this prove nothing")
}

// TestAttackAConfigurationThatIsNoFile names, or finds in the usual place, what is not a plain file of the user's own.
func TestAttackAConfigurationThatIsNoFile(t *testing.T) {
	t.Parallel()
	w := newConfigWorld(t, attack.Winnow(t))
	a := attack.New(t, "a link, a FIFO, a device, a socket, a folder, a huge file or one that others can write in the place of a configuration")
	at := filepath.Join(w.home, ".config/winnow/config.yaml")
	good := []byte("version: 1\nact: {kinds: []}\n")
	for name, make := range map[string]func(path string) error{
		"a link to nothing":    func(p string) error { return os.Symlink("nothing", p) },
		"a link to itself":     func(p string) error { return os.Symlink(p, p) },
		"a link to a device":   func(p string) error { return os.Symlink("/dev/zero", p) },
		"a FIFO":               func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"a folder":             func(p string) error { return os.Mkdir(p, 0o700) },
		"a huge file":          func(p string) error { return os.Truncate(configTouch(p), 8<<30) },
		"a file for everybody": func(p string) error { return os.Chmod(configTouch(p), 0o666) },
		"billions of laughs":   func(p string) error { return os.WriteFile(p, []byte(configLaughs()), 0o600) },
		"ten thousand open brackets": func(p string) error {
			return os.WriteFile(p, []byte("version: 1\nx: "+strings.Repeat("[", 100_000)), 0o600)
		},
	} {
		for _, args := range [][]string{{"sweep"}, {"--config", at, "sweep", "--apply"}} {
			configCheck(t, os.RemoveAll(at))
			configCheck(t, make(at))
			before, began := w.files(t), time.Now()
			said, code := w.run(w.clone, args...)
			wrong := w.wrong(before, w.files(t), said)
			switch {
			case wrong != "":
			case code != 2:
				wrong = fmt.Sprintf("exit %d: %s", code, said)
			case time.Since(began) > wait.Patience:
				wrong = "it took " + time.Since(began).String()
			case !strings.Contains(said, "config.yaml"):
				wrong = "the message does not name the file: " + said
			}
			if wrong != "" {
				wrong = name + ", " + strings.Join(args, " ") + ": " + wrong
			}
			a.Check(wrong)
		}
	}
	configCheck(t, os.RemoveAll(at))
	configCheck(t, os.WriteFile(at, good, 0o600))
	if said, code := w.run(w.clone, "--config", at, "sweep"); code != 0 {
		t.Errorf("a good file: exit %d: %s", code, said)
	}
}

func configTouch(path string) string {
	_ = os.WriteFile(path, []byte("version: 1\n"), 0o600)
	return path
}

// configLaughs is a list of nine levels, each of which names the one below nine times.
func configLaughs() string {
	var b strings.Builder
	b.WriteString("version: 1\na0: &a0 [lol, lol]\n")
	for i := range 9 {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 9), ","))
	}
	return b.String()
}

// TestAttackAConfigurationOfAnotherUser puts another user's file where the victim's would be, and names one.
func TestAttackAConfigurationOfAnotherUser(t *testing.T) {
	t.Parallel()
	victim, attacker := attack.Users(t)
	winnow := attack.Winnow(t)
	a := attack.New(t, "another user's file, or a link of theirs, in the place of the victim's configuration")
	shared := filepath.Join(filepath.Dir(victim.Home), "shared")
	attacker.Mkdir(t, filepath.Join(shared, "winnow"), 0o777)
	theirs, link := filepath.Join(shared, "winnow", "config.yaml"), filepath.Join(shared, "link.yaml")
	own := filepath.Join(victim.Home, "own.yaml")
	victim.Write(t, own, "version: 1\n", 0o600)
	attacker.Link(t, own, link)
	for _, mode := range []os.FileMode{0o644, 0o666} {
		attacker.Write(t, theirs, "version: 1\nstate: "+shared+"/state\n", mode)
		for _, try := range []struct{ env, file string }{{"XDG_CONFIG_HOME=" + shared, ""}, {"WINNOW_CONFIG=" + theirs, ""}, {"", theirs}, {"", link}} {
			args := []string{"sweep"}
			if try.file != "" {
				args = append(args, "--config", try.file)
			}
			cmd := victim.Command(winnow, args...)
			if try.env != "" {
				cmd.Env = append(cmd.Env, try.env)
			}
			out, _ := cmd.CombinedOutput()
			wrong := ""
			if _, err := os.Stat(filepath.Join(shared, "state")); err == nil {
				wrong = "it wrote where the other user said"
			} else if code := cmd.ProcessState.ExitCode(); code != 2 {
				wrong = fmt.Sprintf("mode %o, %+v: exit %d: %s", mode, try, code, out)
			}
			a.Check(wrong)
		}
	}
	cmd := victim.Command(winnow, "sweep", "--config", own)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the victim's own file: %v\n%s", err, out)
	}
}

// configProject is what a hostile project says: as much as it can of everything.
const configProject = "version: 1\nprotected: ['**', {match: {path: x}, why: y, who: z, until: never}]\nlevels: {reap.dirs.disposable: off}\n"

// decisions is what a sweep decides of folders: each one's verdict, and the rules that spoke.
func (w *configWorld) decisions(t *testing.T) (string, int) {
	t.Helper()
	said, code := w.run(w.clone, "sweep", "--kind", "dir", "--format", "ndjson")
	type reasons []struct{ Rule string }
	var out []string
	for line := range strings.Lines(said) {
		var l struct {
			Type     string
			Decision struct {
				ID, Verdict          string
				Findings, Objections reasons
			}
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Type == "decision" {
			out = append(out, fmt.Sprintf("%+v", l.Decision))
		}
	}
	if len(out) == 0 {
		t.Errorf("nothing was decided: exit %d: %s", code, said)
	}
	return strings.Join(out, "\n"), code
}

// decided is decisions, asked again for a while where it is not what is wanted because some process of the machine came or went in
// between: who uses a folder is not known then, which keeps it.
func (w *configWorld) decided(t *testing.T, want string) (string, int) {
	t.Helper()
	var got string
	var code int
	wait.Until(wait.Patience, func() bool {
		got, code = w.decisions(t)
		return got == want || !strings.Contains(got, "protect.live")
	})
	return got, code
}

// settled is decisions at a moment when it is known who uses the folder.
func (w *configWorld) settled(t *testing.T) string {
	t.Helper()
	var got string
	if !wait.Until(wait.Patience, func() bool {
		got, _ = w.decisions(t)
		return !strings.Contains(got, "protect.live")
	}) {
		said, _ := w.run(w.clone, "sweep", "--kind", "dir")
		t.Fatalf("who uses the folder is never known: %s\n%s", got, said)
	}
	return got
}

// TestAttackAProjectSFile puts what may not rule where a project's own file would be, and wants every decision to be as before.
func TestAttackAProjectSFile(t *testing.T) {
	t.Parallel()
	w := newConfigWorld(t, attack.Winnow(t))
	w.own(t, "/elsewhere") // the worktree goes, unless a project keeps it
	folder, file := filepath.Join(w.clone, ".winnow"), filepath.Join(w.clone, ".winnow/config.yaml")
	other := filepath.Join(filepath.Dir(w.clone), "other.yaml")
	configCheck(t, os.WriteFile(other, []byte(configProject), 0o600))
	text := func(s string) func() error {
		return func() error {
			return errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(file, []byte(s), 0o644))
		}
	}
	in := func(f func() error) func() error {
		return func() error { return errors.Join(os.MkdirAll(folder, 0o755), f()) }
	}
	hostile := map[string]struct {
		make func() error
		// trusted says whether winnow trust may take it.
		trusted bool
	}{
		"one that nobody trusted":            {text(configProject), true},
		"a link to another file":             {in(func() error { return os.Symlink(other, file) }), false},
		"a folder that is a link":            {func() error { return os.Symlink(filepath.Dir(other), folder) }, false},
		"a FIFO":                             {in(func() error { return syscall.Mkfifo(file, 0o644) }), false},
		"a folder for a file":                {in(func() error { return os.Mkdir(file, 0o755) }), false},
		"a file for a folder":                {func() error { return os.WriteFile(folder, []byte(configProject), 0o644) }, false},
		"a FIFO for a folder":                {func() error { return syscall.Mkfifo(folder, 0o644) }, false},
		"a huge file":                        {in(func() error { return os.Truncate(configTouch(file), 8<<30) }), false},
		"a file for everybody":               {in(func() error { return os.Chmod(configTouch(file), 0o666) }), false},
		"globs that lead out":                {text("version: 1\nprotected: ['../**']\n"), false},
		"globs that lead out in the middle":  {text("version: 1\nprotected: ['a/../../**']\n"), false},
		"globs from the root":                {text("version: 1\nprotected: ['/**']\n"), false},
		"globs from home":                    {text("version: 1\nprotected: ['~/**']\n"), false},
		"globs with alternatives":            {text("version: 1\nprotected: ['{a,../b}']\n"), false},
		"an entry that leads out":            {text("version: 1\nprotected: [{match: {path: ../x}, why: y, who: z, until: never}]\n"), false},
		"policies":                           {text("version: 1\npolicy: {paths: [./evil], embedded: false}\n"), false},
		"rules":                              {text("version: 1\nrules: {protected: [], disposable_dirs: ['.*']}\n"), false},
		"acts":                               {text("version: 1\nact: {kinds: [process]}\n"), false},
		"a state folder":                     {text("version: 1\nstate: ./.cache\n"), false},
		"a level that is on":                 {text("version: 1\nlevels: {reap.dirs.disposable: on}\n"), false},
		"a rule that keeps, off":             {text("version: 1\nlevels: {protect.unsaved: off}\n"), false},
		"a rule that does not exist":         {text("version: 1\nlevels: {reap.dirs.evil: off}\n"), false},
		"laughs":                             {text(configLaughs()), false},
		"brackets":                           {text("version: 1\nprotected: " + strings.Repeat("[", 30_000)), false},
		"escape sequences for the terminal":  {text("version: 1\nprotected: [{match: {path: x}, why: \"\\e]0;evil\\a\\e[2J\", who: z, until: never}]\n"), false},
		"more than anybody reads":            {text("version: 1\nprotected: [" + strings.Repeat("'x', ", 200) + "'x']\n"), false},
		"another program's file of the name": {text("services: {web: {image: x}}\n"), false},
	}
	configCheck(t, os.RemoveAll(folder))
	want := w.settled(t)
	if !strings.Contains(want, `Verdict:reap`) {
		t.Fatalf("nothing would go, so nothing is shown by its staying: %s", want)
	}
	a := attack.New(t, "what may not rule, or nobody trusted, in the place of a project's own file: nothing is decided otherwise, nothing runs, nothing is written")
	for name, h := range hostile {
		configCheck(t, os.RemoveAll(folder))
		configCheck(t, h.make())
		before := w.files(t)
		got, code := w.decided(t, want)
		wrong := w.wrong(before, w.files(t), got)
		if wrong == "" && (got != want || code != 0) {
			wrong = fmt.Sprintf("exit %d, and it was decided otherwise: %s", code, got)
		}
		if wrong != "" {
			wrong = name + ": " + wrong
		}
		a.Check(wrong)
		if h.trusted {
			continue
		}
		said, code := w.run(w.clone, "trust")
		if stored, _ := filepath.Glob(filepath.Join(w.home, ".local/state/winnow/trusted/*")); code != 2 || len(stored) > 0 {
			a.Lost("%s: winnow trust took it: exit %d: %s", name, code, said)
			continue
		}
		a.Held()
	}
}

// TestAttackAProjectThatWasTrusted changes, removes and replaces a file after it was trusted: only what was trusted holds.
func TestAttackAProjectThatWasTrusted(t *testing.T) {
	t.Parallel()
	w := newConfigWorld(t, attack.Winnow(t))
	w.own(t, "/elsewhere")
	file := filepath.Join(w.clone, ".winnow/config.yaml")
	plain := w.settled(t)
	for name, first := range map[string]struct {
		text  string
		keeps bool
	}{
		"one that keeps the worktree":      {"version: 1\nprotected: ['clone-review-*']\n", true},
		"one that keeps something else":    {"version: 1\nprotected: [docs]\n", false},
		"one that keeps by an entry":       {"version: 1\nprotected: [{match: {path: docs}, why: a build, who: me, until: never}]\n", false},
		"one that turns off what it takes": {"version: 1\nlevels: {reap.dirs.disposable: off}\n", true},
	} {
		w.put(t, ".winnow/config.yaml", first.text)
		said, code := w.run(w.clone, "trust")
		if code != 0 || strings.ContainsRune(said, 0x1b) {
			t.Fatalf("%s: exit %d: %s", name, code, said)
		}
		want := w.settled(t)
		if kept := !strings.Contains(want, `Verdict:reap`); kept != first.keeps || !kept && want != plain {
			t.Errorf("%s: the worktree is kept: %v: %s", name, kept, want)
		}
		a := attack.New(t, "a project's file that was trusted is changed, removed or replaced: "+name)
		for what, change := range map[string]func() error{
			"it keeps all":     func() error { return os.WriteFile(file, []byte(configProject), 0o644) },
			"it keeps nothing": func() error { return os.WriteFile(file, []byte("version: 1\n"), 0o644) },
			"it is no YAML":    func() error { return os.WriteFile(file, []byte("\t["), 0o644) },
			"a comment more":   func() error { return os.WriteFile(file, []byte(first.text+"#\n"), 0o644) },
			"it is removed":    func() error { return nil },
			"it is a FIFO":     func() error { return syscall.Mkfifo(file, 0o644) },
			"it is a link":     func() error { return os.Symlink("/dev/zero", file) },
			"it is huge":       func() error { return os.Truncate(configTouch(file), 8<<30) },
			"its folder is a link": func() error {
				return errors.Join(os.Remove(filepath.Dir(file)), os.Symlink(w.home, filepath.Dir(file)))
			},
			"an entry of a worktree": func() error { return configEntry(w.clone, filepath.Join(w.home, ".git")) },
		} {
			configCheck(t, os.RemoveAll(filepath.Dir(file)))
			configCheck(t, os.MkdirAll(filepath.Dir(file), 0o755))
			configCheck(t, change())
			if got, code := w.decided(t, want); got != want || code != 0 {
				a.Lost("%s: exit %d, and it was decided otherwise: %s", what, code, got)
				continue
			}
			a.Held()
		}
		configCheck(t, os.RemoveAll(filepath.Dir(file)))
		if said, code := w.run(w.clone, "trust", "--revoke"); code != 0 {
			t.Errorf("%s: revoke: exit %d: %s", name, code, said)
		}
		if got, _ := w.decided(t, plain); got != plain {
			t.Errorf("%s: taken back, it still rules: %s", name, got)
		}
	}
	a := attack.New(t, "an entry of a worktree is a FIFO: nothing hangs, and what leads into the worktrees is unknown, which keeps them")
	configCheck(t, configFIFOEntry(w.clone))
	got, code := w.decisions(t)
	if code != 0 || strings.Contains(got, "Verdict:reap") || !strings.Contains(got, "protect.live") {
		a.Lost("exit %d: %s", code, got)
		return
	}
	a.Held()
}

// configEntry adds an entry of a worktree that leads to a folder which does not lead back.
func configEntry(clone, gitdir string) error {
	admin := filepath.Join(clone, ".git/worktrees/evil")
	return errors.Join(os.MkdirAll(admin, 0o755), os.WriteFile(filepath.Join(admin, "gitdir"), []byte(gitdir+"\n"), 0o644))
}

func configFIFOEntry(clone string) error {
	admin := filepath.Join(clone, ".git/worktrees/pipe")
	if err := os.MkdirAll(admin, 0o755); err != nil {
		return err
	}
	return syscall.Mkfifo(filepath.Join(admin, "gitdir"), 0o644)
}
