package attack_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// forged is what an attacker wants to be read as the program's own words, on a line of its own.
const forged = "winnow: forged"

// hostile are parts of names: what a terminal obeys, what it does not show or shows elsewhere, and what forges a line.
var hostile = map[string]string{
	"controls and invisible characters": "a\x1b]0;own\x07\x1b[2J\x1b[31m\r\b\b\t\x7f\u202egpj\u2066\u200e\u061c\u200b\u2060\ufeff\u00ad\u180e\U000e0041\u0085\u009b31mb",
	"bytes that are no UTF-8":           "a\x9b31m\xff\xe2\x80\xc2b",
	"line breaks and markup":            "a\n" + forged + "\u2028" + forged + "\u2029`|<img src=x>@octocat ![x](http://e.example) | `b",
}

// hostileWorld has things of every kind with one hostile name.
type hostileWorld struct {
	dir, name, repo, worktree, config, policy, program, state string
	env                                                       []string
	snapshot                                                  string
}

// file is the name where a path's part may stand, and text where UTF-8 is wanted.
func (w *hostileWorld) file() string { return strings.ReplaceAll(w.name, "/", "_") }
func (w *hostileWorld) text() string { return strings.ToValidUTF8(w.name, "\u009b") }

func newHostileWorld(t *testing.T, program, name string) *hostileWorld {
	t.Helper()
	dir, err := os.MkdirTemp(machine.Temp(), "winnow-names-") // a short path: sockets have one of at most 107 bytes
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &hostileWorld{dir: dir, name: name, program: program}
	w.env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TERM=xterm", "LC_ALL=C.UTF-8", "SHELL=/bin/sh",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost",
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost", "WINNOW_" + strings.ReplaceAll(w.file(), "=", "") + "=1"}
	w.repo, w.worktree = filepath.Join(dir, "repo"), filepath.Join(dir, "wt", w.file()+"-review-1a2b3c4d")
	w.state, w.policy = filepath.Join(dir, "state "+w.file()), filepath.Join(dir, "policy "+w.file())
	must(t, errors.Join(os.Mkdir(w.state, 0o700), os.Mkdir(filepath.Join(dir, "wt"), 0o700)))
	w.run(t, "git", "init", "-q", "-b", "main", w.repo)
	w.run(t, "git", "-C", w.repo, "commit", "-q", "--allow-empty", "-m", "start")
	w.run(t, "git", "-C", w.repo, "worktree", "add", "-q", "--detach", w.worktree)
	must(t, os.WriteFile(filepath.Join(w.worktree, w.file()), []byte("work"), 0o600))
	w.session(t)
	w.process(t)
	w.rules(t)
	w.settings(t)
	return w
}

func (w *hostileWorld) run(t *testing.T, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = w.dir, w.env[:len(w.env)-1]
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
}

func (w *hostileWorld) socket() string { return filepath.Join(w.dir, "tmux") }

func (w *hostileWorld) session(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		return
	}
	w.run(t, "tmux", "-S", w.socket(), "-f", "/dev/null", "new-session", "-d", "-s", "worker-"+w.text())
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", w.socket(), "kill-server").Run() })
}

// process starts one whose name is hostile: the kernel takes it from the file.
func (w *hostileWorld) process(t *testing.T) {
	t.Helper()
	path := filepath.Join(w.dir, w.file())
	executable.Copy(t, "/bin/sleep", path)
	cmd := exec.Command(path, "300")
	cmd.Env = []string{"NAMES_MARK=" + w.file()}
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// rules are a policy whose message is hostile.
func (w *hostileWorld) rules(t *testing.T) {
	t.Helper()
	folder := filepath.Join(w.policy, "reap", "dirs", "named")
	must(t, os.MkdirAll(folder, 0o700))
	message := inASCII("it is called so: "+w.text(), func(r rune) string { // a file of Rego takes fewer characters than JSON as they are
		if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
			return fmt.Sprintf(`\u%04x\u%04x`, hi, lo)
		}
		return fmt.Sprintf(`\u%04x`, r)
	})
	rule := fmt.Sprintf(`package policies.reap.dirs.named

in_scope if input.dir.path

findings contains {"rule": "reap.dirs.named", "message": %s, "evidence": {"name": input.dir.name}} if {
	in_scope
}
`, message)
	must(t, os.WriteFile(filepath.Join(folder, "named.rego"), []byte(rule), 0o600))
	// A second folder of files that are not policies.
	folder = filepath.Join(w.policy+" bad", "reap", "dirs", "named")
	must(t, os.MkdirAll(folder, 0o700))
	must(t, os.WriteFile(filepath.Join(folder, w.file()+".rego"), []byte("package x\n\n"+w.name+" {"), 0o600))
}

// inASCII is v as JSON with everything above ASCII escaped.
func inASCII(v any, escape func(rune) string) string {
	doc, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out strings.Builder
	for _, r := range string(doc) {
		if r >= 0x7f {
			out.WriteString(escape(r))
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func (w *hostileWorld) settings(t *testing.T) {
	t.Helper()
	registry := filepath.Join(w.dir, "workers.json")
	doc, err := json.Marshal(map[string]any{"workers": []any{map[string]any{
		"id": "id" + w.text(), "name": w.text(), "status": w.text(), "path": w.worktree, "session": "worker-" + w.text(), "label": w.text(), "role": w.text(),
	}}})
	must(t, err)
	must(t, os.WriteFile(registry, doc, 0o600))
	config := map[string]any{
		"version": 1, "state": w.text(),
		"collect": map[string]any{
			"tmux": map[string]any{"sockets": []string{w.socket()}}, "herdr": map[string]any{"sockets": []string{}}, "vscode": map[string]any{"sockets": []string{}},
			"shepherd": map[string]any{"stores": []string{}}, "codev": map[string]any{"homes": []string{}},
			"processes": map[string]any{"markers": []string{"NAMES_MARK"}},
			"dirs":      map[string]any{"roots": []string{filepath.Join(w.dir, "wt")}, "agent_folders": []string{}, "discover": false},
			"registry": []any{
				map[string]any{"name": "workers", "format": "kapi", "path": registry},
				map[string]any{"name": "gone", "format": "json", "path": filepath.Join(w.dir, "none "+w.text())},
			},
		},
		"rules": map[string]any{"session_names": map[string]any{"prefix": []string{"worker-"}}, "grace": map[string]any{"dir": "0s", "session": "0s", "process": "0s"},
			"confirm_after": "10ms", "confirm_process_after": "0s", "steady_for": "0s", "id_markers": []string{"NAMES_MARK"}},
	}
	text := inASCII(config, func(r rune) string { return fmt.Sprintf(`\U%08x`, r) }) // so does one of YAML
	w.config = filepath.Join(w.dir, "config "+w.file()+".yaml")
	must(t, os.WriteFile(w.config, []byte(text), 0o600))
	w.snapshot = filepath.Join(w.dir, "snapshot "+w.file()+".json")
	bad := filepath.Join(w.dir, "bad "+w.file()+".yaml")
	must(t, os.WriteFile(bad, []byte("version: 1\nrules: {\""+"x\\u202e\\e[2J"+"\": 1}\n"), 0o600))
}

// winnow runs the program and gives both of its outputs, and how it ended.
func (w *hostileWorld) winnow(args ...string) (stdout, stderr []byte, code int) {
	cmd := exec.Command(w.program, args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	return out.Bytes(), errs.Bytes(), cmd.ProcessState.ExitCode()
}

// commands are runs of every command, with the name in each place that takes one. Those of acts come last.
func (w *hostileWorld) commands() [][]string {
	n := w.name
	var out [][]string
	with := func(args ...string) {
		out = append(out, append(args, "--config", w.config, "--state", w.state))
	}
	with("snapshot", "-o", w.snapshot)
	with("snapshot")
	with("snapshot", "--redact")
	for _, format := range []string{"text", "json", "ndjson", "markdown"} {
		with("sweep", "--all", "--format", format, "--policy", w.policy)
		with("decide", w.snapshot, "--all", "--format", format)
	}
	for _, format := range []string{"text", "json"} {
		with("explain", "review-1a2b3c4d", "--format", format, "--policy", w.policy)
		with("doctor", "--format", format)
	}
	for _, log := range []string{"text", "json"} {
		with("sweep", "--log-level", "trace", "--log-format", log)
		with("decide", w.snapshot, filepath.Join(w.dir, n), "--log-level", "trace", "--log-format", log)
	}
	with("review", "--format", "json")
	with("review", "--format", n)
	with("top", "--format", "json", "--every", "100ms")
	with("top", "--every", n)
	with("subjects", w.snapshot)
	with("explain", "session:", "--snapshot", w.snapshot)
	with("sweep", "--policy", w.policy+" bad")
	with("sweep", "--policy", filepath.Join(w.dir, n))
	for _, arg := range []string{n, "--" + n, "-" + n, "--format=" + n, "--kind=" + n, "--log-level=" + n, "--since=" + n} {
		with("sweep", arg)
		with("history", arg)
		with(arg)
	}
	for _, command := range []string{"explain", "release", "restore", "init", "help", "completion", "subjects", "decide", "trash", "holds", "demo", "doctor"} {
		with(command, n, n)
	}
	for _, command := range []string{"explain", "release", "restore"} {
		with(command, n)
		with(command, n, "--format", "json")
	}
	with("retain", n, "--reason", n)
	with("retain", "review-1a2b3c4d", "--reason", n)
	with("retain", "review-1a2b3c4d", "--reason", n, "--for", n)
	with("holds")
	with("holds", "--format", "json")
	with("holds", "--format", "ndjson")
	with("release", "review-1a2b3c4d", "--format", "json")
	with("cleanup", n, "--safe")
	with("cleanup", n)
	with("cleanup", n, "--safe", "--format", "json")
	with("snapshot", "-o", filepath.Join(w.dir, "none", n))
	with("init", filepath.Join(w.dir, "init "+w.file()))
	with("init", filepath.Join(w.dir, "init "+w.file()))
	with("__complete", "explain", n)
	with("__complete", "release", "")
	with("man", n)
	with("version", "--format", "json")
	with("__complete", "sweep", "--"+n, "")
	out = append(out,
		[]string{"sweep", "--config", filepath.Join(w.dir, n)},
		[]string{"sweep", "--config", filepath.Join(w.dir, "bad "+w.file()+".yaml")},
		[]string{"sweep", "--config", w.config}, // its state is the name
		[]string{"history", "--config", w.config, "--state", filepath.Join(w.dir, n, n)},
		[]string{"sweep", "--apply", "--config", w.config, "--state", filepath.Join(w.dir, n, n)},
	)
	with("sweep", "--apply", "--confirm", "--kind", "session")
	with("sweep", "--apply", "--kind", "dir", "--policy", w.policy, "--format", "markdown")
	with("cleanup", "worker-", "--safe")
	with("history")
	with("history", "--format", "json")
	with("trash")
	with("trash", "--format", "json")
	with("restore", "0")
	return out
}

func TestAttackNamesThatATerminalObeys(t *testing.T) {
	t.Parallel()
	program := attack.Winnow(t)
	t.Run("honest names stay readable", func(t *testing.T) {
		t.Parallel()
		honestNames(t, program)
	})
	for kind, name := range hostile {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			a := attack.New(t, "names with "+kind+" in everything that a command reads or is given")
			w := newHostileWorld(t, program, name)
			told := false
			for _, args := range w.commands() {
				stdout, stderr, code := w.winnow(args...)
				told = told || bytes.Contains(stdout, []byte("review-1a2b3c4d")) && bytes.Contains(stdout, []byte("worker-"))
				wrong := raw(stdout, "")
				if wrong == "" {
					wrong = raw(stderr, "")
				}
				if wrong == "" && asJSON(args) && (code == 0 || len(stdout) > 0) {
					wrong = notJSON(stdout)
				}
				if wrong != "" {
					a.Lost("winnow %q (exit %d): %s\n%q\n%q", args, code, wrong, clip(stdout), clip(stderr))
					continue
				}
				a.Held()
			}
			if !told {
				t.Error("no report named the folder and the session: the test attacks nothing")
			}
			w.onTerminals(t)
		})
	}
}

// clip bounds what a failing test shows.
func clip(b []byte) []byte { return b[:min(len(b), 2000)] }

func asJSON(args []string) bool {
	for i, a := range args {
		if a == "--format" && i+1 < len(args) && strings.HasSuffix(args[i+1], "json") && args[0] != "init" {
			return true
		}
	}
	return false
}

func notJSON(b []byte) string {
	for dec := json.NewDecoder(bytes.NewReader(b)); dec.More(); {
		var doc any
		if err := dec.Decode(&doc); err != nil {
			return "no JSON: " + err.Error()
		}
	}
	return ""
}

// raw names the first thing in an output that a terminal obeys or hides, or a line that an attacker wrote.
func raw(b []byte, but string) string {
	if !utf8.Valid(b) {
		return "no UTF-8"
	}
	for _, r := range string(b) {
		bad := r < 0x20 && r != '\n' || r >= 0x7f && r <= 0xa0 || r == 0xad || r == 0x61c || r == 0x180e || r >= 0x200b && r <= 0x200f ||
			r >= 0x2028 && r <= 0x202e || r >= 0x2060 && r <= 0x206f || r == 0xfeff || r >= 0xfff9 && r <= 0xfffb || r >= 0xe0000
		if bad && !strings.ContainsRune(but, r) {
			return fmt.Sprintf("%U", r)
		}
	}
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, forged) {
			return "a forged line"
		}
	}
	return ""
}

// onTerminals runs some commands on a terminal, where the program's own colours are the only sequences.
func (w *hostileWorld) onTerminals(t *testing.T) {
	t.Helper()
	a := attack.New(t, "the same names, shown on a terminal in colours")
	n := w.name
	for _, args := range [][]string{
		{"sweep", "--all", "--policy", w.policy}, {"explain", "review-1a2b3c4d"}, {"doctor"}, {"sweep", n}, {"sweep", "--format", "json"}, {"help", n},
	} {
		out := onTerminal(t, w, append(args, "--config", w.config, "--state", w.state)...)
		if len(args) == 4 && !bytes.Contains(out, []byte("\x1b[1m")) {
			t.Errorf("no colours: %q", clip(out))
		}
		for _, own := range []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\r\x1b[K"} {
			out = bytes.ReplaceAll(out, []byte(own), nil)
		}
		wrong := raw(out, "")
		if wrong != "" {
			wrong = fmt.Sprintf("winnow %q: %s in %q", args, wrong, clip(out))
		}
		a.Check(wrong)
	}
}

// onTerminal runs the program with a terminal for all of its outputs, and gives what the terminal got.
func onTerminal(t *testing.T, w *hostileWorld, args ...string) []byte {
	t.Helper()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	defer terminal.Close()
	must(t, unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPTN)
	must(t, err)
	other, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	mode, err := unix.IoctlGetTermios(int(other.Fd()), unix.TCGETS)
	must(t, err)
	mode.Oflag &^= unix.OPOST // line breaks arrive as they are written
	must(t, unix.IoctlSetTermios(int(other.Fd()), unix.TCSETS, mode))
	cmd := exec.Command(w.program, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.dir, w.env, other, other
	must(t, cmd.Start())
	other.Close()
	var out bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = out.ReadFrom(terminal) // it ends with EIO when no process has the other side any more
	}()
	select {
	case <-read:
	case <-time.After(wait.Patience):
		_ = cmd.Process.Kill()
		t.Errorf("winnow %q did not end", args)
		<-read
	}
	_ = cmd.Wait()
	return out.Bytes()
}

func honestNames(t *testing.T, program string) {
	const name = "müller-日本-שלום-مرحبا-हिन्दी-🚀⚠️"
	w := newHostileWorld(t, program, name)
	for _, format := range []string{"text", "json", "markdown"} {
		out, errs, _ := w.winnow("sweep", "--all", "--format", format, "--config", w.config, "--state", w.state)
		if !bytes.Contains(out, []byte(name+"-review-1a2b3c4d")) || !bytes.Contains(out, []byte("worker-"+name)) {
			t.Errorf("--format %s: want the names as they are, got\n%s%s", format, out, errs)
		}
	}
}
