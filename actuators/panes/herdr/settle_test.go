package herdr

import (
	"context"
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

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	wire "github.com/winnow-reaper/winnow/internal/sys/herdr"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/herdr"
	"github.com/winnow-reaper/winnow/test/kit/judge"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// child is how a test lets this very binary carry out an act, to kill it on its way.
type child struct {
	Decision decision.Decision
	Identity decision.Identity
	Trash    string
	Lock     string
	// Stop is the step at which it kills itself.
	Stop string
}

const childFile = "WINNOW_TEST_CHILD"

func TestMain(m *testing.M) {
	attack.Play()
	if path := os.Getenv(childFile); path != "" {
		os.Exit(carry(path))
	}
	machine.Alone()
	wait.Mostly()
	procact.KilledWithin = wait.Patience
	os.Exit(m.Run())
}

// carry is the child's part: it writes the intent beside its orders, as the ledger would, and acts.
func carry(path string) int {
	var c child
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	c.Decision.Identity = c.Identity
	a := New(Options{Lock: c.Lock, Trash: c.Trash, Never: actuators.NeverProcess{UID: os.Geteuid()}, Shells: []string{"sh", "bash"}, TermGrace: 50 * time.Millisecond,
		Step: func(step string) {
			if step == c.Stop {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}})
	ctx := context.Background()
	g, err := a.Hold(ctx, act, c.Decision)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 4
	}
	in := intent(g.(*held), c.Decision)
	line, err := json.Marshal(in)
	if err == nil {
		err = os.WriteFile(path+".intent", line, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 5
	}
	fmt.Fprintln(os.Stderr, g.(*held).do(ctx, c.Decision))
	return 0
}

// run starts a child that acts on d, waits for its end, and gives the intent that it left and whether it was killed.
func (w *world) run(a *Actuator, d decision.Decision, stop string, started func(pid int)) (decision.Intent, bool) {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), "orders")
	text, err := json.Marshal(child{Decision: d, Identity: d.Identity, Trash: a.Trash, Lock: a.Lock, Stop: stop})
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	var said strings.Builder
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childFile+"="+path)
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	if started != nil {
		started(cmd.Process.Pid)
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	if err != nil && !killed {
		w.t.Fatalf("%v: %s", err, said.String())
	}
	var in decision.Intent
	line, err := os.ReadFile(path + ".intent")
	if err == nil {
		err = json.Unmarshal(line, &in)
	}
	if err != nil && !killed {
		w.t.Fatal(err)
	}
	return in, killed
}

// TestKilledAtEveryStep kills the program at every step of an act and has it settled afterwards: what was not closed is there
// with nothing saved of it, what was closed is gone with its text saved, and the lock is free.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	for step, closed := range map[string]bool{StepSave: false, StepCheck: false, StepClose: false, StepReadBack: true, StepTerm: true, StepKillLeft: true} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			sh := launch(t)
			w := fresh(t, herdr.Options{}, sh.pane()) // what it runs outlives the close, so that there is something to end
			a := actuator(t, Options{})
			d := w.judged(w.husk)
			if closed {
				w.s.Expect("tab.close", w.husk)
			}
			in, killed := w.run(a, d, step, nil)
			if !killed {
				t.Fatal("it was not killed")
			}
			w.wantSettled(a, d, in, closed)
		})
	}
}

// TestKilledAtEveryRequest does so when each of its requests has just arrived: the server goes on with a close all the same.
func TestKilledAtEveryRequest(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 5; n++ { // the text, what runs, the state, the close, the state again
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			w := fresh(t, herdr.Options{})
			a := actuator(t, Options{})
			d := w.judged(w.husk)
			base := len(w.s.Calls())
			closed := n >= 4
			if closed {
				w.s.Expect("tab.close", w.husk)
			}
			pid := make(chan int, 1)
			w.s.Before(func(i int, _ herdr.Call) {
				if i-base == n {
					_ = syscall.Kill(<-pid, syscall.SIGKILL)
				}
			})
			in, killed := w.run(a, d, "", func(p int) { pid <- p })
			if !killed {
				t.Fatal("it was not killed")
			}
			if closed {
				wait.Eventually(t, "the server has closed it", func() bool { return !w.s.HasTab(w.husk) })
			}
			w.wantSettled(a, d, in, closed)
		})
	}
}

// wantSettled settles an act that was cut short, and checks what is there afterwards.
func (w *world) wantSettled(a *Actuator, d decision.Decision, in decision.Intent, closed bool) {
	w.t.Helper()
	out := a.Settle(w.t.Context(), in)
	if out.Open || w.s.HasTab(w.husk) == closed || !w.s.HasTab(w.keep) {
		w.t.Errorf("open %v, tabs %v: %s", out.Open, w.s.Tabs(), out.Detail)
	}
	if closed {
		judge.WantOutcome(w.t, decision.Done, out, "settled after an interruption")
		if out.RestoreUntil == nil || !out.RestoreUntil.Equal(in.RestoreUntil) {
			w.t.Errorf("it can be restored until %v", out.RestoreUntil)
		}
		if _, err := os.Lstat(filepath.Join(a.Trash, act, "pane-0.txt")); err != nil {
			w.t.Error(err)
		}
		return
	}
	judge.WantOutcome(w.t, decision.Failed, out, "interrupted before it was closed")
	w.wantUntouched(a)
	w.s.Before(nil)
	w.s.Expect("tab.close", w.husk)
	judge.WantOutcome(w.t, decision.Done, attempt(w.t, a, d)) // the lock is free, and nothing is in the way
}

// cut is an act that was cut short right before the given step, in this process.
func (w *world) cut(a *Actuator, d decision.Decision, before string) decision.Intent {
	w.t.Helper()
	type cut struct{}
	a.Step = func(step string) {
		if step == before {
			panic(cut{})
		}
	}
	g := holdTab(w.t, a, d)
	in := intent(g, d)
	func() {
		defer func() {
			if _, ok := recover().(cut); !ok {
				w.t.Errorf("the act was not cut short before %s", before)
			}
		}()
		g.do(w.t.Context(), d)
	}()
	a.Step = func(string) {}
	g.undone = false // as when the program is killed
	_ = g.Close()
	return in
}

func TestSettle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		before string
		then   func(*testing.T, *world, *decision.Tab)
		want   string
		word   string
		kept   bool // what was saved is
		open   bool
	}{
		{"saved and not closed", StepClose, nil, decision.Failed, "interrupted before it was closed", false, false},
		{"closed and not read back", StepReadBack, nil, decision.Done, "settled after an interruption", true, false},
		{"closed by another client since", StepClose, func(_ *testing.T, w *world, _ *decision.Tab) { w.s.CloseTab(w.husk) }, decision.Done, "settled", true, false},
		{"live since", StepClose, func(_ *testing.T, w *world, d *decision.Tab) {
			w.s.Split(d.ID, quiet)
			w.s.Rename(d.ID, "mine")
		}, decision.Failed, "interrupted before it was closed", false, false},
		{"its server started again", StepClose, func(_ *testing.T, w *world, _ *decision.Tab) { w.s.Restart() },
			decision.Done, "settled", true, false},
		{"its server was handed over", StepClose, func(_ *testing.T, w *world, _ *decision.Tab) { w.s.Handoff() },
			decision.Failed, "interrupted before it was closed", false, false},
		{"its server ended", StepClose, func(_ *testing.T, w *world, _ *decision.Tab) { w.s.Stop(true) }, decision.Done, "settled", true, false},
		{"its server ended and took its socket", StepClose, func(_ *testing.T, w *world, _ *decision.Tab) { w.s.Stop(false) }, decision.Done, "settled", true, false},
		{"its panes were moved", StepClose, func(_ *testing.T, w *world, d *decision.Tab) { w.s.MovePane(d.Panes[0].ID, w.home) },
			decision.Changed, "moved to another tab", false, false},
		{"its server answers pings only", StepReadBack, func(_ *testing.T, w *world, _ *decision.Tab) { w.s.Wedge(true) },
			decision.Failed, "unknown", true, true},
		{"its server answers nonsense", StepReadBack, func(_ *testing.T, w *world, _ *decision.Tab) {
			w.s.Fault(func(int, herdr.Call) herdr.Fault { return herdr.Garbage })
		}, decision.Failed, "unknown", true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := fresh(t, herdr.Options{})
			a := actuator(t, Options{})
			d := w.judged(w.husk)
			if c.before == StepReadBack {
				w.s.Expect("tab.close", w.husk)
			}
			in := w.cut(a, d, c.before)
			if c.then != nil {
				c.then(t, w, d.Identity.Tab)
			}
			if c.open { // nothing that it asks for now is answered
				a.patience = 300 * time.Millisecond
			}
			out := a.Settle(t.Context(), in)
			judge.WantOutcome(t, c.want, out, c.word)
			if out.Open != c.open {
				t.Errorf("want it open: %v, got %v", c.open, out.Open)
			}
			if c.kept != (out.RestoreUntil != nil && out.RestoreUntil.Equal(in.RestoreUntil)) {
				t.Errorf("want it kept: %v, and it can be restored until %v", c.kept, out.RestoreUntil)
			}
			if _, err := os.Lstat(filepath.Join(a.Trash, act, panes.Manifest)); c.kept != (err == nil) {
				t.Errorf("want what was saved kept: %v, got %v", c.kept, err)
			}
		})
	}
}

// TestSettleLeavesOpenWhatItsShellSpeaksAgainst has no server, and a shell that still runs: it may come back with the next one.
func TestSettleLeavesOpenWhatItsShellSpeaksAgainst(t *testing.T) {
	t.Parallel()
	sh := launch(t)
	w := fresh(t, herdr.Options{}, sh.pane())
	a := actuator(t, Options{})
	in := w.cut(a, w.judged(w.husk), StepClose)
	w.s.Stop(true)
	if out := a.Settle(t.Context(), in); !out.Open || out.Outcome != decision.Failed || !strings.Contains(out.Detail, "its shells still run") {
		t.Errorf("%+v", out)
	}
	sh.end(t)
	judge.WantOutcome(t, decision.Done, a.Settle(t.Context(), in), "settled")
}

func TestSettleSaysUnknownOfAnIntentThatItCannotRead(t *testing.T) {
	t.Parallel()
	got := actuator(t, Options{}).Settle(t.Context(), decision.Intent{ID: act, Candidate: "tab:herdr/default/w1:t1"})
	if got.Outcome == decision.Done || !strings.Contains(got.Detail, "not known") {
		t.Errorf("got %s: %s", got.Outcome, got.Detail)
	}
}

func TestRestoreOpensATabLikeIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := fresh(t, herdr.Options{}, herdr.Pane{Dir: dir}, herdr.Pane{})
	a := actuator(t, Options{})
	d := w.judged(w.husk)
	g := holdTab(t, a, d)
	in := intent(g, d)
	_, err := a.Restore(t.Context(), in)
	judge.WantErr(t, actuators.ErrRefused, err, "no longer in the trash")
	_, err = a.Restore(t.Context(), decision.Intent{ID: act, Plan: []byte(`{}`)})
	judge.WantErr(t, actuators.ErrRefused, err, "not one of its own")
	w.s.Expect("tab.close", w.husk)
	judge.WantOutcome(t, decision.Done, g.do(t.Context(), d))

	w.s.Expect("tab.create", w.work)
	before := w.s.Tabs()
	said := must.Get(a.Restore(t.Context(), in))(t).Where
	now := w.s.Tabs()
	back := now[len(now)-1]
	if len(now) != len(before)+1 || !strings.Contains(said, "tab "+back) || !strings.Contains(said, filepath.Join(a.Trash, act, "pane-1.txt")) {
		t.Errorf("tabs %v: %s", now, said)
	}
	v := must.Get(a.client(w.s.Socket()).Look(t.Context()))(t)
	if is := v.Tab(back); is.Workspace != w.work || *is.Label != label || *is.Focused || v.FocusedTab != w.home {
		t.Errorf("it is %+v", is)
	}
	if cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", w.s.Panes(back)[0].PID)); cwd != dir {
		t.Errorf("its shell is in %s", cwd)
	}
	if _, err := os.Lstat(filepath.Join(a.Trash, act, panes.Manifest)); err != nil {
		t.Errorf("what was saved is gone: %v", err)
	}

	w.s.CloseTab(back)
	w.s.CloseTab(w.keep) // and with it the workspace
	must.Do(t, os.Remove(dir))
	w.s.Expect("tab.create", "")
	opened, err := a.Restore(t.Context(), in)
	if err != nil || !strings.Contains(opened.Where, "workspace "+w.work+" no longer exists") || !strings.Contains(opened.Where, dir) {
		t.Errorf("%s %v", opened.Where, err)
	}

	w.s.Fault(func(_ int, c herdr.Call) herdr.Fault {
		if c.Method == "tab.create" {
			return herdr.LostReply
		}
		return herdr.Fault{}
	})
	w.s.Expect("tab.create", "")
	if _, err := a.Restore(t.Context(), in); err == nil || !strings.Contains(err.Error(), "whether it was opened is not known") {
		t.Errorf("%v", err)
	}
	w.s.Stop(true)
	if _, err := a.Restore(t.Context(), in); !errors.Is(err, wire.ErrNoServer) || !strings.Contains(err.Error(), "nothing was opened") {
		t.Errorf("%v", err)
	}
}
