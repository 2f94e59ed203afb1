// Package attack_test plays attackers against the real program.
package attack_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// ownRule is the rule that docs/guides/write-a-rule.md begins with.
const ownRule = `package policies.reap.dirs.scratch

in_scope if startswith(input.dir.name, "scratch-")

findings contains {
	"rule": "reap.dirs.scratch",
	"message": "a scratch folder that nobody has touched for a while",
	"evidence": {"idle": input.idle},
} if {
	in_scope
	input.idle >= input.config.landed_after
}
`

const ownTest = `package policies.reap.dirs.scratch_test

import data.policies.reap.dirs.scratch

subject := {"dir": {"name": "scratch-7"}, "idle": 90000, "config": {"landed_after": 86400}}

test_an_old_one_may_go if count(scratch.findings) == 1 with input as subject
`

// slowRule takes OPA's compiler many minutes and is a few hundred bytes: types that double.
func slowRule() string {
	var b strings.Builder
	b.WriteString("package policies.lib.slow\n\na0 := [input.id, 1]\n\nb0 := [input.kind, 1]\n")
	for i := 1; i <= 60; i++ {
		fmt.Fprintf(&b, "\na%d := [a%d, a%d]\n\nb%d := [b%d, b%d]\n", i, i-1, i-1, i, i-1, i-1)
	}
	b.WriteString("\ntop if a60 == b60\n")
	return b.String()
}

// policyWorld is a home with a saved snapshot, below which policies are tried.
type policyWorld struct {
	t       *testing.T
	program string
	home    string
}

func newPolicyWorld(t *testing.T) *policyWorld {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &policyWorld{t, attack.Winnow(t), home}
	w.write("snapshot.json", `{"schema": "winnow.snapshot/v1", "taken_at": "2026-11-20T18:00:00Z", "dirs": {"dir:/w/scratch-1": {"source": "dirs//w", "path": "/w/scratch-1", "name": "scratch-1", "active_at": "2026-11-01T18:00:00Z"}}}`, 0o600)
	return w
}

func (w *policyWorld) path(name string) string { return filepath.Join(w.home, name) }

func (w *policyWorld) write(name, text string, mode os.FileMode) {
	w.t.Helper()
	p := w.path(name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), mode), os.Chmod(p, mode)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *policyWorld) command(policy ...string) *exec.Cmd {
	args := []string{"decide", w.path("snapshot.json"), "--format", "json"}
	for _, p := range policy {
		args = append(args, "--policy", p)
	}
	cmd := exec.Command(w.program, args...)
	cmd.Dir = w.home
	cmd.Env = []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	return cmd
}

// policyRan is how a run of the program went.
type policyRan struct {
	code        int
	out, errOut string
	work        time.Duration // processor time of the program and of its judges: a busy machine does not add to it
	peak        int64         // bytes
}

func (w *policyWorld) run(cmd *exec.Cmd) policyRan {
	w.t.Helper()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	timer := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	peak := attack.Peak(w.t, cmd.Process.Pid)
	_ = cmd.Wait()
	ended := cmd.ProcessState
	return policyRan{code: ended.ExitCode(), out: out.String(), errOut: errOut.String(), work: ended.UserTime() + ended.SystemTime(), peak: peak()}
}

func TestOwnPoliciesWork(t *testing.T) {
	w := newPolicyWorld(t)
	w.write("mine/reap/dirs/scratch/scratch.rego", ownRule, 0o644)
	w.write("mine/reap/dirs/scratch/scratch_test.rego", ownTest, 0o644)
	w.write("mine/README.md", "my rules\n", 0o644)
	w.write("checkout/reap/dirs/scratch/scratch.rego", ownRule, 0o664) // umask 002
	for _, dir := range []string{"checkout", "checkout/reap", "checkout/reap/dirs", "checkout/reap/dirs/scratch"} {
		if err := os.Chmod(w.path(dir), 0o775); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "-C", w.path("checkout"), "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, policy := range []string{w.path("mine"), "mine", "./mine/", w.path("checkout")} {
		r := w.run(w.command(policy))
		if r.code != 0 && r.code != 3 || !strings.Contains(r.out, "a scratch folder that nobody has touched for a while") || strings.Contains(r.out, "policy_error") {
			t.Errorf("--policy %s: exit code %d\n%s%s", policy, r.code, r.errOut, r.out)
		}
	}
}

func TestAttackAPolicyFolderThatIsNone(t *testing.T) {
	w := newPolicyWorld(t)
	const rule = "reap/dirs/scratch/scratch.rego"
	w.write("mine/"+rule, ownRule, 0o644)
	at := func(name string) string {
		w.write(name+"/"+rule, ownRule, 0o644)
		return w.path(name)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Symlink("mine", w.path("link")))
	must(os.Chmod(at("open"), 0o777))
	must(os.Chmod(filepath.Join(at("inner"), "reap/dirs"), 0o777))
	must(os.Chmod(filepath.Join(at("file"), rule), 0o666))
	must(syscall.Mkfifo(filepath.Join(at("fifo"), "reap/dirs/scratch/more.rego"), 0o600))
	must(syscall.Mkfifo(filepath.Join(at("manifest"), ".manifest"), 0o600))
	must(os.Symlink("/dev/zero", filepath.Join(at("zero"), "reap/dirs/scratch/more.rego")))
	must(os.Symlink("/dev/zero", filepath.Join(at("zeromanifest"), ".manifest")))
	must(os.Symlink("..", filepath.Join(at("loop"), "reap/dirs/more")))
	must(os.Symlink(w.path("mine/reap"), filepath.Join(at("half"), "protect")))
	sparse := filepath.Join(at("sparse"), "reap/dirs/scratch/more.rego")
	w.write("sparse/reap/dirs/scratch/more.rego", "", 0o644)
	must(os.Truncate(sparse, 10<<30))
	for i := range 25_000 {
		if i == 0 {
			at("many")
		}
		must(os.WriteFile(filepath.Join(w.path("many"), strconv.Itoa(i)), nil, 0o644))
	}
	w.write("slow/lib/slow/slow.rego", slowRule(), 0o644)
	a := attack.New(t, "a folder of policies that is a link, that others can change, or that holds FIFOs, devices, loops, gigabytes or rules without an end")
	for name, want := range map[string]string{
		"link": "give the folder itself, " + w.path("mine"), "open": "other users can write it", "inner": "other users can write it",
		"file": "other users can write it", "fifo": "not a regular file", "manifest": "not a regular file", "zero": "symbolic link",
		"zeromanifest": "symbolic link", "loop": "symbolic link", "half": "symbolic link", "sparse": "too large", "many": "more than 20000 entries",
		"slow": "loading it took more than", "none": "no such file", "snapshot.json": "no bundle that can be used",
	} {
		r := w.run(w.command(w.path(name)))
		switch {
		case r.code != 2 || !strings.Contains(r.errOut, want) || r.out != "":
			a.Lost("%s: exit code %d, want %q in\n%s%s", name, r.code, want, r.errOut, r.out)
		case r.work > time.Minute || r.peak > 400<<20:
			a.Lost("%s: %s, %d MiB", name, r.work, r.peak>>20)
		default:
			a.Held()
		}
	}
}

func TestAttackPoliciesOfAnotherUser(t *testing.T) {
	victim, attacker := attack.Users(t)
	program := attack.Winnow(t)
	a := attack.New(t, "another user owns the folder of policies, one in it, a file in it, or a link on the way to it")
	shared := filepath.Dir(victim.Home)
	put := func(u attack.User, base string, dirs attack.User) {
		dirs.Mkdir(t, base, 0o755)
		p := base
		for _, part := range []string{"reap", "dirs", "scratch"} {
			p = filepath.Join(p, part)
			dirs.Mkdir(t, p, 0o755)
		}
		u.Write(t, filepath.Join(p, "scratch.rego"), ownRule, 0o644)
	}
	own := filepath.Join(victim.Home, "own")
	put(victim, own, victim)
	theirs := filepath.Join(shared, "theirs")
	put(attacker, theirs, attacker)
	file := filepath.Join(victim.Home, "file")
	put(attacker, file, victim)
	folder := filepath.Join(victim.Home, "folder")
	put(victim, folder, victim)
	attacker.Mkdir(t, filepath.Join(folder, "protect"), 0o755)
	link := filepath.Join(shared, "link")
	attacker.Link(t, victim.Home, link)
	victim.Write(t, filepath.Join(victim.Home, "snapshot.json"), `{"schema": "winnow.snapshot/v1", "taken_at": "2026-11-20T18:00:00Z"}`, 0o600)
	for path, refused := range map[string]bool{own: false, theirs: true, file: true, folder: true, filepath.Join(link, "own"): true} {
		out, err := victim.Command(program, "decide", "snapshot.json", "--policy", path).CombinedOutput()
		var exit *exec.ExitError
		code := 0
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		}
		if refused != (code == 2 && strings.Contains(string(out), "belongs to another user")) {
			a.Lost("%s: exit code %d\n%s", path, code, out)
			continue
		}
		a.Held()
	}
}

// judges are the processes of this test's program that evaluate policies.
func judges(t *testing.T, program string) []int {
	t.Helper()
	var out []int
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		exe, _ := os.Readlink(p + "/exe")
		argv, _ := os.ReadFile(p + "/cmdline")
		if exe == program && strings.Contains(string(argv), "judge-policies-apart") {
			pid, _ := strconv.Atoi(filepath.Base(p))
			out = append(out, pid)
		}
	}
	return out
}

// TestInterruptedWhileLoading: a loading that is interrupted refuses no policy, and nothing of it goes on.
func TestInterruptedWhileLoading(t *testing.T) {
	w := newPolicyWorld(t)
	w.write("slow/lib/slow/slow.rego", slowRule(), 0o644)
	a := attack.New(t, "the program is interrupted or killed while policies load that never would")
	for _, c := range []struct {
		name   string
		signal syscall.Signal
		group  bool
	}{
		{"INT", syscall.SIGINT, false}, {"INT to all of the terminal's", syscall.SIGINT, true}, {"TERM", syscall.SIGTERM, false},
		{"HUP", syscall.SIGHUP, true}, {"KILL", syscall.SIGKILL, false},
	} {
		cmd := w.command(w.path("slow"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		var errOut bytes.Buffer
		cmd.Stderr = &errOut
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if !wait.Until(wait.Patience, func() bool { return len(judges(t, w.program)) == 1 }) {
			_ = cmd.Process.Kill()
		}
		time.Sleep(300 * time.Millisecond)
		pid := cmd.Process.Pid
		if c.group {
			pid = -pid
		}
		begin := time.Now()
		if err := syscall.Kill(pid, c.signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		took, code := time.Since(begin), cmd.ProcessState.ExitCode()
		gone := wait.Until(wait.Patience, func() bool { return len(judges(t, w.program)) == 0 })
		said := code == 1 && strings.Contains(errOut.String(), "interrupted") && !strings.Contains(errOut.String(), "refused")
		if !gone || took > wait.Patience || !said && c.signal != syscall.SIGKILL {
			a.Lost("%s: exit code %d after %s, gone %v: %s", c.name, code, took, gone, errOut.String())
			continue
		}
		a.Held()
	}
}

// TestJudgesHaveNothing: the process that evaluates policies has no environment, no folder and no file of the one that started it.
func TestJudgesHaveNothing(t *testing.T) {
	w := newPolicyWorld(t)
	w.write("slow/lib/slow/slow.rego", slowRule(), 0o644)
	cmd := w.command(w.path("slow"))
	cmd.Env = append(cmd.Env, "API_KEY=secret-of-the-environment")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	a := attack.New(t, "a policy reaches for the environment, the folder or the open files of the program that evaluates it")
	if !wait.Until(wait.Patience, func() bool { return len(judges(t, w.program)) == 1 }) {
		t.Fatal("it does not load")
	}
	proc := fmt.Sprintf("/proc/%d/", judges(t, w.program)[0])
	look := func() string {
		var wrong []string
		env, err := os.ReadFile(proc + "environ")
		if err != nil || strings.Contains(string(env), "secret") || strings.Contains(string(env), "HOME=") {
			wrong = append(wrong, fmt.Sprintf("environment %q %v", env, err))
		}
		if cwd, err := os.Readlink(proc + "cwd"); err != nil || cwd != "/" {
			wrong = append(wrong, fmt.Sprintf("folder %s %v", cwd, err))
		}
		fds, err := filepath.Glob(proc + "fd/*")
		for _, fd := range fds {
			to, _ := os.Readlink(fd)
			if !strings.HasPrefix(to, "pipe:") && !strings.HasPrefix(to, "anon_inode:") && to != "/dev/null" && to != "" && !strings.HasPrefix(to, "/sys/fs/cgroup/") { // Go reads how many processors it may use there
				wrong = append(wrong, "open file "+to)
			}
		}
		limits, err2 := os.ReadFile(proc + "limits")
		status, err3 := os.ReadFile(proc + "status")
		if err := errors.Join(err, err2, err3); err != nil {
			wrong = append(wrong, err.Error())
		}
		for _, line := range strings.Split(string(limits), "\n") {
			if strings.HasPrefix(line, "Max data size") && strings.Contains(line, "unlimited") {
				wrong = append(wrong, line)
			}
		}
		if !strings.Contains(string(status), "NoNewPrivs:\t1") {
			wrong = append(wrong, "it may get new privileges")
		}
		return strings.Join(wrong, "; ")
	}
	wait.Until(wait.Patience, func() bool { return look() == "" }) // it is ours until it has read the first policy
	a.Check(look())
}
