package processes

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/proc/act"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// roleVar makes the test binary play a process that is acted on, or a Winnow that is killed in the middle of an act.
const roleVar = "WINNOW_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "":
		machine.Alone()
		act.KilledWithin = wait.Patience
		os.Exit(m.Run())
	case "wait":
		play(nil)
	case "listen":
		if _, err := net.Listen("tcp", "127.0.0.1:0"); err != nil {
			panic(err)
		}
		play(nil)
	case "deaf":
		signal.Ignore(unix.SIGTERM)
		play(nil)
	case "turncoat", "changes":
		c := make(chan os.Signal, 1)
		signal.Notify(c, map[string]os.Signal{"turncoat": unix.SIGTERM, "changes": unix.SIGUSR1}[os.Getenv(roleVar)])
		play(c)
	case "crash":
		crash()
	case "reuse":
		reuse()
	}
}

// play says that it is ready and waits until its standard input ends. A signal on c makes it another program.
func play(c chan os.Signal) {
	fmt.Println("ready")
	if c != nil {
		<-c
		fmt.Fprintln(os.Stderr, unix.Exec("/bin/sleep", []string{"sleep", "300"}, nil))
		os.Exit(1)
	}
	bufio.NewReader(os.Stdin).ReadString('\n')
}

// child is a process that the test started and ends.
type child struct {
	*exec.Cmd
	in     *os.File
	reaped chan struct{}
}

// start runs the test binary in a role, in a folder of its own, and waits until it is ready. With reap it is waited for as soon
// as it ends, as a service manager would; without, it stays a zombie until the test has ended.
func start(t testing.TB, role string, reap bool) *child {
	t.Helper()
	r, w, err := os.Pipe()
	must.Do(t, err)
	c := &child{Cmd: exec.Command("/proc/self/exe"), in: w, reaped: make(chan struct{})}
	// It has no stderr: this process's may be a file, to which its child would be seen to write.
	c.Env, c.Dir, c.Stdin = append(os.Environ(), roleVar+"="+role), t.TempDir(), r
	out := must.Get(c.StdoutPipe())(t)
	must.Do(t, c.Start())
	r.Close()
	var once sync.Once
	wait := func() { once.Do(func() { c.Wait(); close(c.reaped) }) }
	t.Cleanup(func() {
		w.Close()
		c.Process.Kill()
		wait()
		<-c.reaped
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the child in role %s said %q: %v", role, line, err)
	}
	if reap {
		go wait()
	}
	return c
}

func (c *child) alive() bool {
	h, err := proc.Hold("/proc", c.Process.Pid)
	if err != nil {
		return false
	}
	h.Close()
	return true
}

// identify reads a process's identity the way a collector would, by paths and not by the code under test.
func identify(t testing.TB, pid int) decision.Process {
	t.Helper()
	return must.Get(identity(pid))(t)
}

func identity(pid int) (decision.Process, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	boot, err1 := os.ReadFile("/proc/sys/kernel/random/boot_id")
	stat, err2 := os.ReadFile(filepath.Join(dir, "stat"))
	comm, err3 := os.ReadFile(filepath.Join(dir, "comm"))
	argv, err4 := os.ReadFile(filepath.Join(dir, "cmdline"))
	exe, err5 := os.Readlink(filepath.Join(dir, "exe"))
	cwd, err6 := os.Readlink(filepath.Join(dir, "cwd"))
	var ns, owner unix.Stat_t
	err7 := errors.Join(unix.Stat("/proc/self/ns/pid", &ns), unix.Stat(dir, &owner))
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7); err != nil {
		return decision.Process{}, err
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	ticks, err := strconv.ParseUint(string(fields[19]), 10, 64)
	if err != nil {
		return decision.Process{}, err
	}
	p := decision.Process{
		BootID: string(bytes.TrimSpace(boot)), PIDNamespace: ns.Ino, PID: pid, StartTicks: ticks, UID: int(owner.Uid),
		Name: string(bytes.TrimSpace(comm)), Exe: exe, Cwd: cwd, RSS: 4096,
	}
	sum := sha256.Sum256(append([]byte(p.BootID), argv...))
	p.ArgvDigest = hex.EncodeToString(sum[:])
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return p, err
	}
	defer unix.Close(fd)
	p.Inode, err = proc.Inode(fd)
	return p, err
}

func options() Options {
	return Options{TermGrace: 10 * time.Second, Never: actuators.NeverProcess{UID: os.Getuid(), Multiplexers: []string{"screen"}, Names: []string{"git-*"}}}
}

func decide(p decision.Process) decision.Decision {
	return decision.Decision{ID: fmt.Sprintf("process:%d@%d", p.PID, p.StartTicks), Kind: "process", Verdict: decision.Reap,
		Identity: decision.Identity{Key: "k", Process: &p}}
}

func intent(p decision.Process) decision.Intent {
	return decision.Intent{ID: "A1", Kind: "process", Identity: decision.Identity{Key: "k", Process: &p}, At: time.Now()}
}

// carryOut holds and acts, as the carrier does.
func carryOut(t testing.TB, ctx context.Context, o Options, p decision.Process) decision.Outcome {
	t.Helper()
	g, err := New(o).Hold(ctx, "A1", decide(p))
	if err != nil {
		t.Fatalf("hold: %v", err)
	}
	defer g.Close()
	return g.Act(ctx, intent(p))
}

// crash is a Winnow that dies at the step that its environment names, in an act on the process that its input describes.
func crash() {
	var p decision.Process
	if err := json.NewDecoder(os.Stdin).Decode(&p); err != nil {
		panic(err)
	}
	o := options()
	o.TermGrace = 50 * time.Millisecond
	o.Step = func(step string) {
		if step == os.Getenv("WINNOW_TEST_STEP") {
			unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		}
	}
	g, err := New(o).Hold(context.Background(), "A1", decide(p))
	if err != nil {
		panic(err)
	}
	g.Act(context.Background(), intent(p))
	os.Exit(0)
}
