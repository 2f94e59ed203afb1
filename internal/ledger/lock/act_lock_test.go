package lock_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// The variables that make the test binary a process that wants to act.
const (
	actingIn    = "TEST_ACTING_IN"    // the folder in which those who act leave a file while they do
	actingTimes = "TEST_ACTING_TIMES" // how often; 0 is once, until stdin ends
	actingName  = "TEST_ACTING_NAME"
	actingHome  = "TEST_ACTING_HOME"
)

// TestActingChild is not a test: it is the process that the others start.
func TestActingChild(t *testing.T) {
	dir := os.Getenv(actingIn)
	if dir == "" {
		t.Skip("it is a part of other tests")
	}
	times := must.Get(strconv.Atoi(os.Getenv(actingTimes)))(t)
	a := lock.Acting{Name: os.Getenv(actingName), Home: os.Getenv(actingHome)}
	for range max(times, 1) {
		unlock := wait(t, a)
		f, err := os.OpenFile(filepath.Join(dir, "acts"), os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			fmt.Println("another one acts")
			os.Exit(1)
		}
		f.Close()
		if times == 0 {
			fmt.Println("acting")
			io.Copy(io.Discard, os.Stdin)
		}
		time.Sleep(time.Millisecond)
		must.Do(t, errors.Join(os.Remove(f.Name()), unlock()))
		time.Sleep(rand.N(3 * time.Millisecond))
	}
}

func wait(t *testing.T, a lock.Acting) (unlock func() error) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; {
		unlock, err := a.Lock()
		if err == nil {
			return unlock
		}
		if held := new(lock.Held); !errors.As(err, &held) || time.Now().After(end) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond + rand.N(4*time.Millisecond))
	}
}

// actor is this test binary as such a process, of a user or of this one.
func actor(t *testing.T, program string, u *attack.User, env ...string) *exec.Cmd {
	t.Helper()
	args := []string{"-test.run=^TestActingChild$", "-test.count=1"}
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	if u != nil {
		cmd = u.Command(program, args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	}
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// shared is a copy of the test binary that every user can run, and a folder that every user can write.
func shared(t *testing.T, near string) (program, dir string) {
	t.Helper()
	self := must.Get(os.Executable())(t)
	program, dir = filepath.Join(near, "program"), filepath.Join(near, "acts")
	executable.Copy(t, self, program)
	must.Do(t, errors.Join(os.Mkdir(dir, 0o777), os.Chmod(dir, 0o777)))
	return program, dir
}

// environments are those of a login, of cron, of a program in another temporary folder and of one with another home.
func environments(t *testing.T) [][]string {
	return [][]string{
		{"HOME=" + t.TempDir(), "XDG_RUNTIME_DIR=" + t.TempDir()},
		{},
		{"HOME=/", "TMPDIR=" + t.TempDir()},
		{"HOME=" + t.TempDir(), "XDG_STATE_HOME=" + t.TempDir(), "USER=somebody"},
	}
}

// race has one process an environment act again and again, all at once, and says how often one acted while another did.
func race(t *testing.T, a *attack.Attack, rounds int, program, dir string, u *attack.User, env ...string) {
	t.Helper()
	var all []*exec.Cmd
	var outs []*strings.Builder
	for _, e := range environments(t) {
		cmd, out := actor(t, program, u, append(append(e, env...), actingIn+"="+dir, fmt.Sprintf("%s=%d", actingTimes, rounds))...), &strings.Builder{}
		cmd.Stdout, cmd.Stderr = out, out
		must.Do(t, cmd.Start())
		all, outs = append(all, cmd), append(outs, out)
	}
	for i, cmd := range all {
		if err := cmd.Wait(); err != nil {
			a.Lost("process %d: %v: %s", i, err, outs[i])
			continue
		}
		for range rounds {
			a.Held()
		}
	}
}

func TestAttackTwoActWithDifferentEnvironments(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	program, dir := shared(t, base)
	a := attack.New(t, "cron, a login and other environments act at the same time")
	race(t, a, stage.Trials(8, 60), program, dir, nil, actingName+"="+t.Name()+strconv.Itoa(os.Getpid()), actingHome+"="+base)
}

func TestAttackTwoActWithoutAHome(t *testing.T) {
	victim, attacker := attack.Users(t)
	program, dir := shared(t, filepath.Dir(victim.Home))
	// The attacker acts under his own lock of the same name all the time, which keeps no other user out.
	_, end := acting(t, program, dir+"-2", &attacker)
	defer end()
	a := attack.New(t, "a user without a home acts twice at the same time, while another user holds a lock of the same name")
	race(t, a, stage.Trials(8, 60), program, dir, &victim)
}

// acting starts one process that acts until end is called.
func acting(t *testing.T, program, dir string, u *attack.User, env ...string) (pid int, end func()) {
	t.Helper()
	must.Do(t, errors.Join(os.MkdirAll(dir, 0o777), os.Chmod(dir, 0o777)))
	cmd := actor(t, program, u, append(env, actingIn+"="+dir, actingTimes+"=0")...)
	in := must.Get(cmd.StdinPipe())(t)
	out := must.Get(cmd.StdoutPipe())(t)
	cmd.Stderr = os.Stderr
	must.Do(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "acting\n" {
		t.Fatalf("it does not act: %q, %v", line, err)
	}
	return cmd.Process.Pid, func() { in.Close(); _ = cmd.Wait() }
}

func TestWhoActsIsNamedAndLetsGo(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	program, dir := shared(t, base)
	name := t.Name() + strconv.Itoa(os.Getpid())
	for what, home := range map[string]string{"the mark alone": filepath.Join(base, "none"), "the file too": base} {
		me := lock.Acting{Name: name, Home: home}
		pid, end := acting(t, program, dir, nil, actingName+"="+name, actingHome+"="+home)
		_, err := me.Lock()
		held := new(lock.Held)
		if !errors.As(err, &held) || held.PID != pid || time.Since(held.Since) > time.Minute {
			t.Errorf("%s: want process %d since now, got %v", what, pid, err)
		}
		// Another folder for the file, which is what is left when it was removed: the mark holds by itself.
		if _, err := (lock.Acting{Name: name, Home: t.TempDir()}).Lock(); !errors.As(err, &held) || held.PID != pid {
			t.Errorf("%s: another home: want process %d, got %v", what, pid, err)
		}
		// Another container: the file holds by itself.
		if _, err := (lock.Acting{Name: name + "x", Home: home}).Lock(); home == base && !errors.As(err, &held) {
			t.Errorf("%s: without the mark: want it held, got %v", what, err)
		}
		end()
		unlock, err := me.Lock()
		if err != nil {
			t.Fatalf("%s: want it free, got %v", what, err)
		}
		if err := unlock(); err != nil {
			t.Error(err)
		}
	}
}

func TestActingNeedsProc(t *testing.T) {
	t.Parallel()
	if _, err := (lock.Acting{Name: "x", Home: t.TempDir(), Proc: t.TempDir()}).Lock(); err == nil {
		t.Error("a /proc without processes: want an error")
	}
}

func TestAttackTheFileOfTheLock(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(path string) error{
		"a link":   func(p string) error { return os.Symlink("/dev/null", p) },
		"a FIFO":   func(p string) error { return syscall.Mkfifo(p, 0o666) },
		"a folder": func(p string) error { return os.Mkdir(p, 0o700) },
		"readable": func(p string) error { return errors.Join(os.WriteFile(p, nil, 0o666), os.Chmod(p, 0o666)) },
	} {
		path := filepath.Join(t.TempDir(), "lock")
		must.Do(t, make(path))
		begin := time.Now()
		unlock, err := lock.Take(path)
		if name == "readable" {
			if err != nil {
				t.Errorf("%s: want the lock, got %v", name, err)
				continue
			}
			if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
				t.Errorf("%s: want mode 0600, got %v, %v", name, st.Mode(), err)
			}
			_ = unlock()
		} else if err == nil {
			t.Errorf("%s: want an error", name)
		}
		if time.Since(begin) > time.Minute {
			t.Errorf("%s took %s", name, time.Since(begin))
		}
	}
}
