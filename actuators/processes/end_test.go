package processes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func TestEndsAProcess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, role string
		reap       bool
		grace      time.Duration
		detail     string
	}{
		{"one that listens ends when asked", "wait", true, wait.Patience, "ended when asked to"},
		{"one whose parent does not reap it counts as ended", "wait", false, wait.Patience, "ended when asked to"},
		{"one that does not listen is killed", "deaf", true, 50 * time.Millisecond, "and was killed"},
		{"no grace is no grace", "deaf", false, 0, "and was killed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			child := start(t, c.role, c.reap)
			o := options()
			o.TermGrace = c.grace
			got := carryOut(t, t.Context(), o, identify(t, child.Process.Pid))
			if got.Outcome != decision.Done || got.Freed.RSS != 4096 || !strings.HasSuffix(got.Detail, c.detail) {
				t.Errorf("outcome: %+v", got)
			}
			if child.alive() {
				t.Error("it still runs")
			}
		})
	}
}

func TestEndsAStoppedProcess(t *testing.T) {
	t.Parallel()
	child := start(t, "wait", true)
	must.Do(t, child.Process.Signal(unix.SIGSTOP))
	for stopped := false; !stopped; {
		h := must.Get(proc.Hold("/proc", child.Process.Pid))(t)
		stopped = h.Was.State == 'T'
		h.Close()
	}
	got := carryOut(t, t.Context(), options(), identify(t, child.Process.Pid))
	if got.Outcome != decision.Done || !strings.HasSuffix(got.Detail, "ended when asked to") {
		t.Errorf("outcome: %+v", got)
	}
}

func TestSparesWhatBecameAnotherProgram(t *testing.T) {
	t.Parallel()
	child := start(t, "turncoat", true)
	o := options()
	o.TermGrace = 500 * time.Millisecond
	got := carryOut(t, t.Context(), o, identify(t, child.Process.Pid))
	if got.Outcome != decision.Changed || !strings.Contains(got.Detail, "was not killed") {
		t.Errorf("outcome: %+v", got)
	}
	if !child.alive() {
		t.Error("the other program was killed")
	}
}

func TestStopsWaitingWhenInterrupted(t *testing.T) {
	t.Parallel()
	child := start(t, "deaf", true)
	ctx, cancel := context.WithCancelCause(t.Context())
	o := options()
	o.TermGrace = time.Hour
	o.Step = func(step string) {
		if step == "process.grace" {
			time.AfterFunc(10*time.Millisecond, func() { cancel(errors.New("a key was pressed")) })
		}
	}
	got := carryOut(t, ctx, o, identify(t, child.Process.Pid))
	if got.Outcome != decision.Failed || !strings.Contains(got.Detail, "a key was pressed") || !strings.Contains(got.Detail, "was not killed") {
		t.Errorf("outcome: %+v", got)
	}
	if !child.alive() {
		t.Error("it was killed")
	}
}

func TestSparesWhatEndedOrChanged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*decision.Process)
		want   error
	}{
		{"another boot", func(p *decision.Process) { p.BootID = "another" }, actuators.ErrGone},
		{"another pid namespace", func(p *decision.Process) { p.PIDNamespace++ }, actuators.ErrRefused},
		{"another start", func(p *decision.Process) { p.StartTicks++ }, actuators.ErrGone},
		{"another inode", func(p *decision.Process) { p.Inode++ }, actuators.ErrGone},
		{"another user before", func(p *decision.Process) { p.UID++ }, actuators.ErrChanged},
		{"another name", func(p *decision.Process) { p.Name = "else" }, actuators.ErrChanged},
		{"another program", func(p *decision.Process) { p.Exe = "/bin/else" }, actuators.ErrChanged},
		// Where it works is not part of its identity: it is judged again, and compared with that judgement before the signal.
		{"another working directory", func(p *decision.Process) { p.Cwd += "x" }, nil},
		{"another command line", func(p *decision.Process) { p.ArgvDigest = proc.Digest(p.BootID, []byte("else")) }, actuators.ErrChanged},
		{"no such process", func(p *decision.Process) { p.PID = 1 << 22 }, actuators.ErrGone},
		{"init", func(p *decision.Process) { p.PID = 1 }, actuators.ErrRefused},
		{"no process at all", func(p *decision.Process) { p.PID = 0 }, actuators.ErrRefused},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			child := start(t, "wait", true)
			was := identify(t, child.Process.Pid)
			p := was
			c.change(&p)
			if p == was {
				t.Fatal("the case changes nothing")
			}
			g, err := New(options()).Hold(t.Context(), "A1", decide(p))
			if c.want != nil && !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("hold: %v, want %v", err, c.want)
			}
			if err == nil {
				_ = g.Close()
			}
			// The same when it comes out between the hold and the signal. Boot and namespace cannot change in between.
			g = must.Get(New(options()).Hold(t.Context(), "A1", decide(was)))(t)
			defer g.Close()
			if p.BootID != was.BootID || p.PIDNamespace != was.PIDNamespace {
				return
			}
			if out := g.Act(t.Context(), intent(p)); out.Outcome == decision.Done {
				t.Errorf("do: %+v", out)
			}
			if !child.alive() {
				t.Error("it was signalled")
			}
		})
	}
}

func TestGoneBetweenHoldAndSignal(t *testing.T) {
	t.Parallel()
	child := start(t, "wait", true)
	p := identify(t, child.Process.Pid)
	g := must.Get(New(options()).Hold(t.Context(), "A1", decide(p)))(t)
	defer g.Close()
	child.in.Close()
	<-child.reaped
	if out := g.Act(t.Context(), intent(p)); out.Outcome != decision.Gone {
		t.Errorf("outcome: %+v", out)
	}
}

func TestNeverList(t *testing.T) {
	t.Parallel()
	child := start(t, "wait", true)
	p := identify(t, child.Process.Pid)
	for name, change := range map[string]func(*Options){
		"self":                     func(o *Options) { o.Never.Self = []int{p.PID} },
		"parent of orphans":        func(o *Options) { o.Never.OrphanParents = []int{p.PID} },
		"multiplexer":              func(o *Options) { o.Never.Multiplexers = []string{p.Name} },
		"name":                     func(o *Options) { o.Never.Names = []string{p.Name} },
		"beginning of a name":      func(o *Options) { o.Never.Names = []string{p.Name[:2] + "*"} },
		"user":                     func(o *Options) { o.Never.UID++ },
		"no procfs of this system": func(o *Options) { o.ProcRoot = t.TempDir() },
	} {
		o := options()
		change(&o)
		if _, err := New(o).Hold(t.Context(), "A1", decide(p)); !errors.Is(err, actuators.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Its own process and its ancestors are refused although no option names them.
	if _, err := New(options()).Hold(t.Context(), "A1", decide(identify(t, os.Getpid()))); !errors.Is(err, actuators.ErrRefused) {
		t.Errorf("this process: %v", err)
	}
	if !child.alive() {
		t.Error("it was signalled")
	}
}

func TestCrash(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step    string
		outcome string
	}{
		{"process.term", decision.Failed}, {"process.grace", decision.Failed}, {"process.kill", decision.Failed},
		{"process.killed", decision.Done}, {"none", decision.Done},
	} {
		t.Run(c.step, func(t *testing.T) {
			t.Parallel()
			child := start(t, "deaf", true)
			p := identify(t, child.Process.Pid)
			text := must.Get(json.Marshal(p))(t)
			w := exec.Command("/proc/self/exe")
			w.Env = append(os.Environ(), roleVar+"=crash", "WINNOW_TEST_STEP="+c.step)
			w.Stdin, w.Stderr = bytes.NewReader(text), os.Stderr
			err := w.Run()
			if killed := err != nil && w.ProcessState.ExitCode() == -1; killed != (c.step != "none") {
				t.Fatalf("the act ended with %v", err)
			}
			if c.outcome == decision.Done {
				<-child.reaped
			}
			got := New(options()).Settle(t.Context(), intent(p))
			if diff := cmp.Diff(c.outcome, got.Outcome); diff != "" {
				t.Errorf("settled (-want +got):\n%s%s", diff, got.Detail)
			}
			if want := c.outcome == decision.Failed; child.alive() != want {
				t.Errorf("it runs: %v, want %v", !want, want)
			}
		})
	}
}

func TestSettleOfAnotherBoot(t *testing.T) {
	t.Parallel()
	p := identify(t, os.Getpid())
	p.BootID = "another"
	if got := New(options()).Settle(t.Context(), intent(p)); got.Outcome != decision.Gone {
		t.Errorf("settled: %+v", got)
	}
	p = identify(t, os.Getpid())
	p.StartTicks--
	if got := New(options()).Settle(t.Context(), intent(p)); got.Outcome != decision.Done {
		t.Errorf("settled: %+v", got)
	}
}
