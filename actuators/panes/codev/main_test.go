package codev

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// roleVar makes the test binary play a shellper, or a Winnow that is killed in the middle of an act.
const roleVar = "WINNOW_TEST_ROLE"

func TestMain(m *testing.M) {
	attack.Play()
	switch os.Getenv(roleVar) {
	case "":
		machine.Alone()
		wait.Mostly()
		procact.KilledWithin = wait.Patience
		os.Exit(m.Run())
	case "shellper":
		playShellper()
	case "crash":
		crash()
	}
}

// fake is a shellper that does what the kit's do not: it answers to orders.
type fake struct {
	t   testing.TB
	pid int
	in  *os.File
	out *bufio.Reader
}

// newFake starts a shellper whose command line says what is in conf. It leads a session of its own.
func newFake(t testing.TB, conf map[string]any) *fake {
	t.Helper()
	text := must.Get(json.Marshal(conf))(t)
	return startFake(t, "node", "/usr/lib/codev/shellper-main.js", string(text))
}

func startFake(t testing.TB, argv ...string) *fake {
	t.Helper()
	r, w, err := os.Pipe()
	must.Do(t, err)
	c := exec.Command("/proc/self/exe")
	c.Args, c.Env, c.Dir, c.Stdin = argv, []string{"PATH=" + os.Getenv("PATH"), roleVar + "=shellper"}, t.TempDir(), r
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out := must.Get(c.StdoutPipe())(t)
	must.Do(t, c.Start())
	r.Close()
	reaped := make(chan struct{})
	t.Cleanup(func() {
		w.Close()
		c.Process.Kill()
		<-reaped
	})
	f := &fake{t: t, pid: c.Process.Pid, in: w, out: bufio.NewReader(out)}
	f.answer()
	go func() { c.Process.Wait(); close(reaped) }()
	return f
}

// order has the shellper do something, and gives what it answers.
func (f *fake) order(what string) string {
	f.t.Helper()
	if _, err := fmt.Fprintln(f.in, what); err != nil {
		f.t.Fatal(err)
	}
	return f.answer()
}

func (f *fake) answer() string {
	f.t.Helper()
	line, err := f.out.ReadString('\n')
	if err != nil {
		f.t.Fatalf("the shellper said %q: %v", line, err)
	}
	return strings.TrimSpace(line)
}

// child has something started below the shellper that the test ends.
func (f *fake) child(order string) {
	f.t.Helper()
	pid, err := strconv.Atoi(f.order(order))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { unix.Kill(pid, unix.SIGKILL) })
}

func (f *fake) alive() bool {
	h, err := procact.Hold("/proc", f.pid)
	if err == nil {
		h.Close()
	}
	return err == nil
}

// playShellper carries orders out until its standard input ends.
func playShellper() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM)
	orders := make(chan string)
	go func() {
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			orders <- in.Text()
		}
		os.Exit(0)
	}()
	fmt.Println("ready")
	onTerm := "end"
	for {
		select {
		case <-signals:
			switch onTerm {
			case "end":
				os.Exit(0)
			case "breed":
				start(exec.Command("sleep", "60"))
			case "ignore":
				fmt.Println("asked")
			}
		case o := <-orders:
			switch o {
			case "ignore", "breed":
				onTerm = o
				fmt.Println("ok")
			case "child":
				fmt.Println(start(exec.Command("sleep", "60")))
			case "own session":
				c := exec.Command("sleep", "60")
				c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
				fmt.Println(start(c))
			case "background":
				fmt.Println(background(exec.Command("sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!")))
			case "terminal":
				fmt.Println(onTerminal())
			default:
				fmt.Println("what?")
			}
		}
	}
}

func start(c *exec.Cmd) int {
	if err := c.Start(); err != nil {
		panic(err)
	}
	return c.Process.Pid
}

// background runs what leaves a process behind and says its pid.
func background(c *exec.Cmd) string {
	out, err := c.Output()
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(out))
}

// onTerminal leaves a process in the background of a session of its own, on a terminal that the shellper keeps open.
func onTerminal() string {
	master, slave, err := procs.Terminal()
	if err != nil {
		panic(err)
	}
	kept = master
	defer slave.Close()
	c := exec.Command("sh", "-c", "trap '' HUP; exec 3<&0; sleep 60 >&3 2>&3 & echo $!")
	c.Stdin = slave
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return background(c)
}

// kept is open as long as the shellper lives.
var kept *os.File

// job is what a Winnow that dies is to do.
type job struct {
	Identity decision.Terminal
	Step     string
	Sockets  string
	Timeout  time.Duration
	Grace    time.Duration
}

// crash is a Winnow that dies at a step of the act that its input describes.
func crash() {
	var j job
	if err := json.NewDecoder(os.Stdin).Decode(&j); err != nil {
		panic(err)
	}
	o := Options{Never: actuators.NeverProcess{UID: os.Getuid()}, Timeout: j.Timeout, TermGrace: j.Grace}
	o.Env = func(name string) string { return map[string]string{"SHELLPER_SOCKET_DIR": j.Sockets}[name] }
	o.Step = func(step string) {
		if step == j.Step {
			unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		}
	}
	g, err := New(o).Hold(context.Background(), "A1", decide(j.Identity))
	if err != nil {
		panic(err)
	}
	g.Act(context.Background(), intent(j.Identity))
	os.Exit(0)
}

// killedAt runs a Winnow that dies at the step.
func (w *world) killedAt(step string, id decision.Terminal) {
	w.t.Helper()
	text, err := json.Marshal(job{Identity: id, Step: step, Sockets: w.SocketDir(), Timeout: w.o.Timeout, Grace: w.o.TermGrace})
	if err != nil {
		w.t.Fatal(err)
	}
	c := exec.Command("/proc/self/exe")
	c.Env, c.Stdin, c.Stderr = append(os.Environ(), roleVar+"=crash"), strings.NewReader(string(text)), os.Stderr
	err = c.Run()
	if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != unix.SIGKILL {
		w.t.Fatalf("it was to die at %s: %v", step, err)
	}
}

// conf is what a shellper of this world's Codev has for an argument.
func (w *world) conf(env map[string]string) map[string]any {
	return map[string]any{"command": "sh", "env": env, "socketPath": filepath.Join(w.SocketDir(), "shellper-x.sock")}
}

// unknown is the identity of an unknown shellper, as the policies decided it.
func (w *world) unknown(pid int) decision.Terminal {
	w.t.Helper()
	return *w.decide("pid-" + strconv.Itoa(pid)).Identity.Terminal
}
