package processes

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/proc/act"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// tree runs a shell script and waits until so many processes are below it. What is left of them when the test has ended is killed.
func tree(t *testing.T, script string, below int) (decision.Process, []*act.Held) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must.Do(t, cmd.Start())
	done := make(chan struct{})
	t.Cleanup(func() { cmd.Process.Kill(); <-done })
	go func() { cmd.Wait(); close(done) }()
	var held []*act.Held
	wait.Eventually(t, strconv.Itoa(below)+" processes below the script", func() bool {
		for _, h := range held {
			h.Close()
		}
		held = descendants(t, cmd.Process.Pid)
		return len(held) == below && settled(held)
	})
	t.Cleanup(func() {
		for _, h := range held {
			_ = h.Signal(unix.SIGKILL)
			h.Close()
		}
	})
	return identify(t, cmd.Process.Pid), held
}

func descendants(t *testing.T, top int) (out []*act.Held) {
	t.Helper()
	all := must.Get(proc.Scan("/proc"))(t)
	for pid := range all {
		if descends(all, pid, top) {
			if h, err := act.Hold("/proc", pid); err == nil {
				out = append(out, h)
			}
		}
	}
	return out
}

// settled reports whether every one runs its own program: a shell forks before it does.
func settled(hs []*act.Held) bool {
	for _, h := range hs {
		if s, err := h.Stat(); err != nil || s.Comm == "setsid" || s.Comm == "sh" && s.State != 'S' {
			return false
		}
		h.Was, _ = h.Stat()
	}
	return true
}

func judged(hs []*act.Held) (out []decision.Member) {
	for _, h := range hs {
		out = append(out, decision.Member{PID: h.PID, StartTicks: h.Was.Start, Name: h.Was.Comm})
	}
	return out
}

// actOn acts on a process with what was judged below it, at the decision and again right before the act.
func actOn(t *testing.T, o Options, p decision.Process, before, again []decision.Member) (decision.Outcome, error) {
	t.Helper()
	d, in := decide(p), intent(p)
	d.Identity.Below, in.Identity.Below = before, again
	g, err := New(o).Hold(t.Context(), "A1", d)
	if err != nil {
		return decision.Outcome{}, err
	}
	defer g.Close()
	return g.Act(t.Context(), in), nil
}

func living(hs []*act.Held) (n int) {
	for _, h := range hs {
		if !h.Ended() {
			n++
		}
	}
	return n
}

const family = `sleep 300 & setsid sleep 301 & sh -c 'trap "" TERM; sleep 302 & wait' & wait`

func TestEndsWhatIsBelowToo(t *testing.T) {
	t.Parallel()
	p, below := tree(t, family, 4)
	o := options()
	o.TermGrace = 200 * time.Millisecond
	out, err := actOn(t, o, p, judged(below), judged(below))
	if err != nil || out.Outcome != decision.Done || living(below) != 0 {
		t.Fatalf("%+v %v, and %d still run", out, err, living(below))
	}
	for _, words := range []string{"ended when asked to", ", with 4 processes below it: "} {
		if !strings.Contains(out.Detail, words) {
			t.Errorf("not in %q: %q", out.Detail, words)
		}
	}
	for _, b := range judged(below) {
		if !strings.Contains(out.Detail, fmt.Sprintf("%s (%d)", b.Name, b.PID)) {
			t.Errorf("%s (%d) is not named in %q", b.Name, b.PID, out.Detail)
		}
	}
	if out.Freed.PSS <= 0 {
		t.Errorf("no memory came back: %+v", out.Freed)
	}
	if out.Freed.RSS <= p.RSS {
		t.Errorf("what was below freed nothing: %d", out.Freed.RSS)
	}
}

func TestLeavesWhatWasNotJudged(t *testing.T) {
	t.Parallel()
	p, below := tree(t, family, 4)
	var known []decision.Member
	var unknown *act.Held
	for _, h := range below {
		if h.Was.Session == h.PID {
			unknown = h
			continue
		}
		known = append(known, judged([]*act.Held{h})...)
	}
	o := options()
	o.TermGrace = 50 * time.Millisecond
	// One that was judged at first, and belonged to another user at the look right before the act.
	out, err := actOn(t, o, p, judged(below), known)
	if err != nil || out.Outcome != decision.Done || unknown.Ended() || living(below) != 1 {
		t.Errorf("%+v %v, and %d still run", out, err, living(below))
	}

	p, below = tree(t, "sleep 303 & wait", 1)
	out, err = actOn(t, o, p, nil, nil)
	if err != nil || out.Outcome != decision.Done || living(below) != 1 || !strings.Contains(out.Detail, "started since it was judged stayed") {
		t.Errorf("%+v %v, and %d still run", out, err, living(below))
	}
}

func TestSparesATreeWithOneThatIsNeverSignalled(t *testing.T) {
	t.Parallel()
	o := options()
	o.Never.Names = []string{"sleep"}
	p, below := tree(t, "sleep 304 & wait", 1)
	if out, err := actOn(t, o, p, judged(below), judged(below)); !errors.Is(err, actuators.ErrRefused) {
		t.Errorf("judged with it: %+v %v", out, err)
	}
	// It was started since, so the script is at work.
	if out, err := actOn(t, o, p, nil, nil); err != nil || out.Outcome != decision.Changed {
		t.Errorf("started since: %+v %v", out, err)
	}
	if there, err := proc.Alive("/proc", p.PID, p.StartTicks); err != nil || !there || living(below) != 1 {
		t.Error("it was signalled")
	}
}

func TestLeavesWhatIsBelowOneThatIsSpared(t *testing.T) {
	t.Parallel()
	p, below := tree(t, "sleep 305 & wait", 1)
	again := p
	again.Name = "else"
	d, in := decide(p), intent(again)
	d.Identity.Below, in.Identity.Below = judged(below), judged(below)
	g := must.Get(New(options()).Hold(t.Context(), "A1", d))(t)
	defer g.Close()
	if out := g.Act(context.Background(), in); out.Outcome != decision.Changed || living(below) != 1 {
		t.Errorf("%+v, and %d still run", out, living(below))
	}
}

func TestSparesWhatBecameAnotherProgramBelow(t *testing.T) {
	t.Parallel()
	p, below := tree(t, "sleep 306 & wait", 1)
	was := judged(below)
	was[0].Name = "another"
	out, err := actOn(t, options(), p, was, was)
	if err != nil || out.Outcome != decision.Done || living(below) != 1 || !strings.Contains(out.Detail, `it is called "sleep" now`) {
		t.Errorf("%+v %v, and %d still run", out, err, living(below))
	}
}

// TestSparesWhatBecomesAnotherProgramAtTheLastMoment: right before the signal it is asked again what a process below is.
func TestSparesWhatBecomesAnotherProgramAtTheLastMoment(t *testing.T) {
	t.Parallel()
	p, below := tree(t, `sh -c 'trap "exec tail -f /dev/null" USR1; sleep 308 & wait' & wait`, 2)
	o := options()
	o.Step = func(name string) {
		if name != "process.below.term" {
			return
		}
		for _, h := range below {
			if h.Was.Comm != "sh" {
				continue
			}
			_ = h.Signal(unix.SIGUSR1)
			wait.Until(wait.Patience, func() bool { now, err := h.Stat(); return err != nil || now.Comm == "tail" })
		}
	}
	out, err := actOn(t, o, p, judged(below), judged(below))
	if err != nil || out.Outcome != decision.Done || living(below) != 1 || !strings.Contains(out.Detail, `it is called "tail" now`) {
		t.Errorf("%+v %v, and %d still run", out, err, living(below))
	}
}

func TestRefusesToEndMoreThanALookTellsOf(t *testing.T) {
	t.Parallel()
	p, _ := tree(t, "sleep 307 & wait", 1)
	if _, err := actOn(t, options(), p, make([]decision.Member, maxBelow+1), nil); !errors.Is(err, actuators.ErrRefused) {
		t.Error(err)
	}
}

// descends reports whether the process with pid is below another one, by what Scan gave.
func descends(all map[int]proc.Stat, pid, above int) bool {
	for range len(all) { // while processes come and go, what was read may run in a circle
		s, ok := all[pid]
		if !ok {
			return false
		}
		if s.Parent == above {
			return true
		}
		pid = s.Parent
	}
	return false
}
