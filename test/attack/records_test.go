// Package attack_test plays attackers against the real program.
package attack_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	_ "modernc.org/sqlite" // the driver of the stores and ledgers that are made

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// recordsWorld is a repository of this user's with one worktree that a sweep takes, and a configuration that names one spawn ledger, one
// registry and one store.
type recordsWorld struct {
	t       *testing.T
	winnow  string
	dir     string
	n       int
	current string // the worktree that is there now
}

func newRecordsWorld(t *testing.T, winnow, dir string) *recordsWorld {
	t.Helper()
	w := &recordsWorld{t: t, winnow: winnow, dir: dir}
	must(t, errors.Join(os.MkdirAll(w.at("home"), 0o700), os.MkdirAll(w.at("wt"), 0o700)))
	w.git("", "init", "-q", "-b", "main", "project")
	w.git("project", "commit", "-q", "--allow-empty", "-m", "start")
	w.write("spawns", "")
	w.write("registry", "[]")
	w.store(w.at("store"))
	w.write("config.yaml", fmt.Sprintf(`version: 1
state: %[1]s/state
collect:
  tmux: {sockets: []}
  herdr: {sockets: []}
  vscode: {sockets: []}
  codev: {homes: []}
  shepherd: {stores: []}
  dirs: {roots: [%[1]s/wt], agent_folders: [], discover_from: []}
  timeout: 5s
  spawns: [{name: s, format: jsonl, path: %[1]s/spawns}]
  registry: [{name: r, format: json, path: %[1]s/registry}, {name: d, format: shepherd, path: %[1]s/store}]
rules: {grace: {dir: 0s}, landed_after: 0s, steady_for: 0s}
`, dir))
	return w
}

func (w *recordsWorld) at(name string) string { return filepath.Join(w.dir, name) }

func (w *recordsWorld) write(name, text string) {
	w.t.Helper()
	must(w.t, os.WriteFile(w.at(name), []byte(text), 0o600))
}

// store makes an empty store of Shepherd's.
func (w *recordsWorld) store(path string) {
	w.t.Helper()
	run(w.t, path, `CREATE TABLE sessions (id, status, worktreePath, terminal, agentProvider, createdAt, archivedAt, mergingSince, herdrSession,
		herdrAgentId, terminalTabId)`)
}

func run(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	_, err = db.Exec(text)
	must(t, errors.Join(err, db.Close()))
}

func (w *recordsWorld) env() []string {
	return []string{"HOME=" + w.at("home"), "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "XDG_RUNTIME_DIR=" + w.at("home"),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost",
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost"}
}

func (w *recordsWorld) git(dir string, args ...string) {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = w.at(dir), w.env()
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// worktree makes sure that there is a worktree to take.
func (w *recordsWorld) worktree() {
	w.t.Helper()
	if _, err := os.Lstat(w.current); w.current != "" && err == nil {
		return
	}
	w.n++
	w.current = w.at(fmt.Sprintf("wt/project-review-%08x", w.n))
	w.git("project", "worktree", "add", "-q", "--detach", w.current)
}

// ran is how the program ended.
type ran struct {
	code int
	out  string
	took time.Duration
}

// run runs the program, for as long as a person would wait at most.
func (w *recordsWorld) run(stdin io.Reader, args ...string) ran {
	w.t.Helper()
	cmd := exec.Command(w.winnow, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = w.at("home"), w.env(), stdin
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	must(w.t, cmd.Start())
	stuck := time.AfterFunc(2*wait.Patience, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), time.Since(began)}
}

func (w *recordsWorld) sweep() ran {
	w.t.Helper()
	return w.run(nil, "sweep", "--apply", "--config", w.at("config.yaml"), "--kind", "dir", "--all")
}

// kept says what is wrong after a sweep that must have kept the worktree: "" where it is there, and a reason was reported.
func (w *recordsWorld) kept(r ran, codes ...int) string {
	_, err := os.Lstat(w.current)
	switch {
	case err != nil:
		return "the worktree was taken: " + r.out
	case strings.Contains(r.out, "panic") || strings.Contains(r.out, "goroutine "):
		return "it panicked: " + r.out
	case r.took > wait.Patience:
		return fmt.Sprintf("it took %s: %s", r.took, r.out)
	}
	for _, code := range codes {
		if r.code == code {
			return ""
		}
	}
	return fmt.Sprintf("it ended with %d: %s", r.code, r.out)
}

// swap puts something else in the place of a file for as long as f runs.
func (w *recordsWorld) swap(path string, put func(path string) error, f func()) {
	w.t.Helper()
	aside := path + ".aside"
	must(w.t, os.Rename(path, aside))
	must(w.t, put(path))
	f()
	must(w.t, errors.Join(os.RemoveAll(path), os.Rename(aside, path)))
}

// A registry, spawn ledger or store that is refused has failed, and what rests on it stays.
func TestAttackRecordsThatAreNotOurs(t *testing.T) {
	victim, attacker := attack.Users(t)
	dir := filepath.Join(filepath.Dir(victim.Home), "world")
	must(t, os.Mkdir(dir, 0o755))
	w := newRecordsWorld(t, attack.Winnow(t), dir)
	w.worktree()
	if r := w.sweep(); r.code != 0 || exists(w.current) {
		t.Fatalf("the honest sweep ended with %d and left the worktree: %s", r.code, r.out)
	}
	his := func(path string) error { return os.Chown(path, int(attacker.UID), int(attacker.GID)) }
	copied := func(path string) error {
		data, err := os.ReadFile(path + ".aside")
		return errors.Join(err, os.WriteFile(path, data, 0o644))
	}
	a := attack.New(t, "another user's file, a FIFO, a device, a link or a file that others can write as the registry, the spawn ledger and the store of a sweep --apply")
	for name, put := range map[string]func(string) error{
		"his file":     func(p string) error { return errors.Join(copied(p), his(p)) },
		"others write": func(p string) error { return errors.Join(copied(p), os.Chmod(p, 0o666)) },
		"a FIFO":       func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"a device":     func(p string) error { return os.Symlink("/dev/zero", p) },
		"a folder":     func(p string) error { return os.Mkdir(p, 0o700) },
		"his link": func(p string) error {
			return errors.Join(os.Symlink(p+".aside", p), os.Lchown(p, int(attacker.UID), int(attacker.GID)))
		},
		"nothing":       func(p string) error { return os.WriteFile(p+".gone", nil, 0o600) },
		"deep brackets": func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("[", 30<<20)), 0o600) },
	} {
		for _, file := range []string{"spawns", "registry", "store"} {
			w.worktree()
			w.swap(w.at(file), put, func() {
				code := 3
				if name == "nothing" { // no failure: what is configured and not there yet is absent, and what rests on it stays
					code = 0
				}
				wrong := w.kept(w.sweep(), code)
				if wrong != "" {
					wrong = name + " as " + file + ": " + wrong
				}
				a.Check(wrong)
			})
			must(t, errors.Join(os.RemoveAll(w.at(file+".gone"))))
		}
	}
	w.worktree()
	if r := w.sweep(); r.code != 0 || exists(w.current) {
		t.Errorf("the honest sweep afterwards ended with %d and left the worktree: %s", r.code, r.out)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Root who sweeps a user's folder takes no word of that user's for his own.
func TestAttackRootReadsAUsersRegistry(t *testing.T) {
	victim, attacker := attack.Users(t)
	dir := filepath.Join(filepath.Dir(victim.Home), "world")
	must(t, os.Mkdir(dir, 0o755))
	w := newRecordsWorld(t, attack.Winnow(t), dir)
	w.worktree()
	home := filepath.Join(filepath.Dir(victim.Home), "other")
	attacker.Mkdir(t, home, 0o755)
	attacker.Write(t, filepath.Join(home, "registry"), `[{"id":"x","status":"archived","terminal":true,"path":"`+w.current+`"}]`, 0o644)
	config, err := os.ReadFile(w.at("config.yaml"))
	must(t, err)
	w.write("config.yaml", strings.ReplaceAll(string(config), w.at("registry"), filepath.Join(home, "registry")))
	a := attack.New(t, "a user's registry says to root that a folder has no owner any more")
	r := w.sweep()
	wrong := w.kept(r, 3)
	if wrong == "" && !strings.Contains(r.out, "another user") {
		wrong = "it does not say why: " + r.out
	}
	a.Check(wrong)
}

// A file that is not a ledger, or not one that this version made, keeps everything, and nothing is done.
func TestAttackALedgerUnderASweep(t *testing.T) {
	w := newRecordsWorld(t, attack.Winnow(t), t.TempDir())
	w.worktree()
	if r := w.sweep(); r.code != 0 || exists(w.current) {
		t.Fatalf("the honest sweep ended with %d: %s", r.code, r.out)
	}
	whole, err := os.ReadFile(w.at("state/ledger.db"))
	must(t, err)
	executed := func(text string) func(string) error {
		return func(p string) error {
			must(t, os.WriteFile(p, whole, 0o600))
			run(t, p, text)
			return nil
		}
	}
	middle := append([]byte(nil), whole...)
	copy(middle[len(middle)/3:2*len(middle)/3], make([]byte, len(middle)/3))
	first := append([]byte(nil), whole...)
	clear(first[4096:])
	a := attack.New(t, "the ledger is a FIFO, a link, a folder, cut, damaged, has a trigger, a view, an odd version or other tables, before sweep, sweep --apply, retain and trash")
	for name, put := range map[string]func(string) error{
		"a FIFO":             func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"a device":           func(p string) error { return os.Symlink("/dev/zero", p) },
		"a folder":           func(p string) error { return os.Mkdir(p, 0o700) },
		"text":               func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("x", 9999)), 0o600) },
		"cut":                func(p string) error { return os.WriteFile(p, whole[:len(whole)/2+7], 0o600) },
		"zeros in it":        func(p string) error { return os.WriteFile(p, first, 0o600) },
		"zeros in a third":   func(p string) error { return os.WriteFile(p, middle, 0o600) },
		"a trigger":          executed("CREATE TRIGGER t AFTER INSERT ON acts BEGIN DELETE FROM acts; END"),
		"a view":             executed("DROP TABLE holds; CREATE VIEW holds AS SELECT 1 AS id, 2 AS owner, 3 AS reason, 4 AS since, 5 AS until"),
		"version -1":         executed("PRAGMA user_version = -1"),
		"version 2147483647": executed("PRAGMA user_version = 2147483647"),
		"version 0":          executed("PRAGMA user_version = 0"),
		"no holds":           executed("DROP TABLE holds"),
		"others write":       func(p string) error { return errors.Join(os.WriteFile(p, whole, 0o600), os.Chmod(p, 0o666)) },
	} {
		w.worktree()
		w.swap(w.at("state/ledger.db"), put, func() {
			for _, args := range [][]string{
				{"sweep", "--apply", "--kind", "dir"}, {"sweep", "--kind", "dir"}, {"retain", "dir:" + w.current, "--reason", "x"}, {"trash"},
			} {
				if name == "zeros in a third" && args[0] == "trash" {
					continue // it reads only what acts set aside, which may lie in the other two
				}
				wrong := w.kept(w.run(nil, append(args, "--config", w.at("config.yaml"))...), 1, 3)
				if wrong != "" {
					wrong = name + " before " + args[0] + ": " + wrong
				}
				a.Check(wrong)
			}
		})
		must(t, errors.Join(os.RemoveAll(w.at("state/ledger.db-wal")), os.RemoveAll(w.at("state/ledger.db-shm"))))
	}
}

// What is given as a saved snapshot is read within bounds, and the first signal ends the reading.
func TestAttackASavedSnapshot(t *testing.T) {
	w := newRecordsWorld(t, attack.Winnow(t), t.TempDir())
	w.worktree()
	if r := w.run(nil, "snapshot", "--config", w.at("config.yaml"), "-o", w.at("s.json")); r.code != 0 {
		t.Fatalf("snapshot ended with %d: %s", r.code, r.out)
	}
	must(t, syscall.Mkfifo(w.at("fifo"), 0o600))
	held, err := os.OpenFile(w.at("fifo"), os.O_RDWR, 0)
	must(t, err)
	defer held.Close()
	w.write("deep", strings.Repeat("[", 60<<20))
	w.write("objects", `{"spawns":[`+strings.Repeat("{},", 20<<20)+"{}]}")
	w.write("unknown", `{"x":[`+strings.Repeat("{},", 20<<20)+"{}]}")
	w.write("key", `{"`+strings.Repeat("k", 60<<20)+`":1}`)
	w.write("null", "null")
	w.write("list", "[]")
	w.write("schema", `{"schema":"winnow.snapshot/v9","taken_at":"2026-01-01T00:00:00Z"}`)
	must(t, os.Truncate(w.at("list"), 1<<40))
	a := attack.New(t, "a FIFO, a device, a folder, 60 MiB of brackets, of one key, millions of objects, another schema as a saved snapshot")
	for _, name := range []string{"fifo", "deep", "objects", "unknown", "key", "null", "list", "schema", "/dev/zero", "home", "none"} {
		path := name
		if !filepath.IsAbs(name) {
			path = w.at(name)
		}
		for _, args := range [][]string{{"decide", path}, {"explain", "x", "--snapshot", path}, {"subjects", path}} {
			limited := exec.Command("prlimit", append([]string{"--as=4294967296", "--", w.winnow}, append(args, "--config", w.at("config.yaml"))...)...)
			limited.Dir, limited.Env = w.at("home"), w.env()
			var out strings.Builder
			limited.Stdout, limited.Stderr = &out, &out
			began := time.Now()
			must(t, limited.Start())
			peak := attack.Peak(t, limited.Process.Pid)
			err := limited.Wait()
			most := peak()
			switch {
			case err == nil || limited.ProcessState.ExitCode() != 1 || strings.Contains(out.String(), "goroutine "):
				a.Lost("%s %s ended with %d: %.300s", args[0], name, limited.ProcessState.ExitCode(), out.String())
			case time.Since(began) > wait.Patience:
				a.Lost("%s %s took %s", args[0], name, time.Since(began))
			case most > 450<<20:
				a.Lost("%s %s took %d MiB", args[0], name, most>>20)
			default:
				a.Held()
			}
		}
	}
	for _, args := range [][]string{{"decide", w.at("s.json")}, {"decide", "/dev/stdin"}, {"decide", "-"}} {
		f, err := os.Open(w.at("s.json"))
		must(t, err)
		if r := w.run(f, append(args, "--config", w.at("config.yaml"))...); r.code != 0 {
			t.Errorf("%v ended with %d: %s", args, r.code, r.out)
		}
		must(t, f.Close())
	}
	a.Check(interrupted(t, w))
}

// interrupted says what is wrong with the end of a program that waits for its input and is interrupted.
func interrupted(t *testing.T, w *recordsWorld) string {
	t.Helper()
	r, held, err := os.Pipe()
	must(t, err)
	defer held.Close()
	cmd := exec.Command(w.winnow, "decide", "-", "--config", w.at("config.yaml"))
	cmd.Dir, cmd.Env, cmd.Stdin = w.at("home"), w.env(), r
	must(t, cmd.Start())
	must(t, r.Close())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	time.Sleep(2 * time.Second) // it loads the policies
	must(t, cmd.Process.Signal(syscall.SIGINT))
	select {
	case <-done:
		return ""
	case <-time.After(wait.Patience):
		_ = cmd.Process.Kill()
		<-done
		return "an interrupt does not end the waiting for a snapshot"
	}
}

// -o writes a file of this user's own, and replaces nothing else.
func TestAttackWhatSnapshotWrites(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make devices")
	}
	w := newRecordsWorld(t, attack.Winnow(t), t.TempDir())
	null, disk := w.at("null"), w.at("disk")
	if err := errors.Join(unix.Mknod(null, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))), unix.Mknod(disk, unix.S_IFBLK|0o600, int(unix.Mkdev(240, 240)))); err != nil {
		t.Skipf("devices cannot be made here: %v", err)
	}
	w.write("his", "his")
	must(t, errors.Join(os.Chown(w.at("his"), 40_000, 40_000), os.Symlink("nowhere", w.at("lost"))))
	a := attack.New(t, "-o names a device, a folder, another user's file or a link that leads nowhere, and root takes the snapshot")
	for path, code := range map[string]int{null: 0, disk: 1, w.at("home"): 1, w.at("his"): 1, w.at("lost"): 1} {
		before, err := os.Lstat(path)
		must(t, err)
		r := w.run(nil, "snapshot", "--config", w.at("config.yaml"), "-o", path)
		after, err := os.Lstat(path)
		switch {
		case err != nil || !os.SameFile(before, after) || before.Mode() != after.Mode():
			a.Lost("%s is another one now: %v", path, err)
		case r.code != code:
			a.Lost("%s: it ended with %d: %s", path, r.code, r.out)
		default:
			a.Held()
		}
	}
}
