package herdr

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/herdr"
	"github.com/winnow-reaper/winnow/test/kit/judge"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// fact says by which reading a change of the world can be found out.
type fact int

const (
	// inSnapshot is in the server's answer to session.snapshot.
	inSnapshot fact = iota
	// inInfo is in its answer to pane.process_info of that pane.
	inInfo
	// inShell is in /proc, which is read after the last answer and right before the close.
	inShell
)

// mischief makes a tab live, or another one.
type mischief struct {
	name string
	fact fact
	do   func(*trial)
}

var mischiefs = []mischief{
	{"rename", inSnapshot, func(x *trial) { x.s.Rename(x.tab, "mine") }},
	{"focus", inSnapshot, func(x *trial) { x.s.Focus(x.tab) }},
	{"agent works", inSnapshot, func(x *trial) { x.s.SetStatus(x.pane, "working") }},
	{"agent is blocked", inSnapshot, func(x *trial) { x.s.SetStatus(x.pane, "blocked") }},
	{"split", inSnapshot, func(x *trial) { x.s.Split(x.tab, quiet) }},
	{"close", inSnapshot, func(x *trial) { x.s.CloseTab(x.tab) }},
	{"last tab", inSnapshot, func(x *trial) { x.s.CloseTab(x.keep); x.lost = true }},
	{"move out", inSnapshot, func(x *trial) { x.s.MovePane(x.pane, x.keep) }},
	{"move in", inSnapshot, func(x *trial) { x.s.MovePane(x.s.Split(x.keep, quiet), x.tab) }},
	{"hide", inSnapshot, func(x *trial) { x.s.Hide(x.pane) }},
	{"omitted", inInfo, func(x *trial) { x.s.ProcessInfo(x.pane, herdr.Omitted) }},
	{"empty", inInfo, func(x *trial) { x.s.ProcessInfo(x.pane, herdr.EmptyList) }},
	{"no pane", inInfo, func(x *trial) { x.s.ProcessInfo(x.pane, herdr.NotFound) }},
	{"error", inInfo, func(x *trial) { x.s.ProcessInfo(x.pane, herdr.Erring) }},
	{"agent in front", inInfo, func(x *trial) {
		x.s.ProcessInfo(x.pane, func(_ int, real herdr.Info) herdr.Info {
			real.ForegroundPGID, real.Foreground = os.Getpid(), []herdr.Proc{{PID: os.Getpid(), Name: "agent"}}
			return real
		})
	}},
	{"another shell", inInfo, func(x *trial) {
		x.s.ProcessInfo(x.pane, func(_ int, real herdr.Info) herdr.Info {
			real.ShellPID, real.ForegroundPGID, real.Foreground = os.Getpid(), os.Getpid(), []herdr.Proc{{PID: os.Getpid(), Name: "sh"}}
			return real
		})
	}},
	{"a key", inShell, func(x *trial) { awake(x.t, x.pid, x.typeIn) }},
	{"a command", inShell, func(x *trial) {
		x.typeIn("sleep 1000\n")
		wait.Eventually(x.t, "a command", func() bool { return hasChild(x.pid) })
	}},
	{"a background command", inShell, func(x *trial) {
		x.typeIn("sleep 1000 &\n")
		wait.Eventually(x.t, "a command", func() bool { return hasChild(x.pid) })
	}},
	{"another program", inShell, func(x *trial) {
		x.typeIn("exec sleep 1000\n")
		wait.Eventually(x.t, "a program", func() bool { return procs.Name(x.pid) == "sleep" })
	}},
	{"the shell ends", inShell, func(x *trial) {
		_ = syscall.Kill(x.pid, syscall.SIGKILL)
		wait.Eventually(x.t, "the shell's end", func() bool { return !procs.Lives(x.pid) })
	}},
}

// hasChild reports whether a process has started another one: of itself, without a look at all of /proc.
func hasChild(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	return len(text) > 0
}

// moment is when a change happens: before or after the n-th request of an act, or at one of its steps.
type moment struct {
	step  string
	n     int
	after bool
}

func (m moment) String() string {
	return fmt.Sprintf("%s n=%d after=%v", m.step, m.n, m.after)
}

// anyMoment is one of those that an act on a tab with that many panes has until its close.
func anyMoment(r *rand.Rand, panes int) moment {
	last := 2*(2+panes) + 2*panes + 2 // ping, snapshot, info..; read..; the same; info.., snapshot, close
	if k := r.IntN(2*last + 3); k >= 2*last {
		return moment{step: []string{StepSave, StepCheck, StepClose}[k-2*last]}
	} else {
		return moment{n: k/2 + 1, after: k%2 == 1}
	}
}

// trial is one tab on which one act is tried while one change happens to one of its panes.
type trial struct {
	t             *testing.T
	s             *herdr.Server
	work          string
	keep, tab     string
	pane          string
	pid           int
	typeIn        func(string)
	shells        []*shell // those of all panes, where the server did not start them
	mischief      mischief
	lost, changed bool

	mu    sync.Mutex
	base  int
	calls []herdr.Call
	// from is the number of the first request that the change came before, and here whether it also came before what is read
	// from /proc after the request before that.
	from int
	here bool
}

// happen makes the change, once.
func (x *trial) happen(from int, here bool) {
	x.mischief.do(x)
	x.changed, x.from, x.here = true, from, here
}

// play tries the act and tells how it went.
func (x *trial) play(a *Actuator, m moment) decision.Outcome {
	w := &world{t: x.t, s: x.s, shells: x.shells}
	d := w.judged(x.tab)
	x.base = len(x.s.Calls())
	x.s.Before(func(n int, c herdr.Call) {
		x.mu.Lock()
		defer x.mu.Unlock()
		n -= x.base
		// A look asks about several panes at once, so that a later request may be reported first.
		for len(x.calls) < n {
			x.calls = append(x.calls, herdr.Call{})
		}
		x.calls[n-1] = c
		if m.step == "" && m.n == n && !m.after {
			x.happen(n, c.Method != "tab.close")
		}
	})
	x.s.After(func(n int, c herdr.Call) {
		x.mu.Lock()
		defer x.mu.Unlock()
		n -= x.base
		if c.Method == "tab.close" && !x.s.HasTab(x.tab) { // what the server did not start it does not end either
			for _, sh := range x.shells {
				sh.end(x.t)
			}
		}
		if m.step == "" && m.n == n && m.after && c.Method != "tab.close" {
			x.happen(n+1, true)
		}
	})
	a.Step = func(step string) {
		x.mu.Lock()
		defer x.mu.Unlock()
		if step == m.step {
			x.happen(len(x.calls)+1, step != StepClose)
		}
	}
	out := w.judge().Carry(x.t.Context(), a, d)
	x.s.Before(nil)
	x.s.After(nil)
	return out
}

// missed says why the close that was sent should not have been, by what was asked before it.
func (x *trial) missed(closed int) string {
	if !x.changed {
		return ""
	}
	if x.mischief.fact == inShell && x.here {
		return "the shell had run before it was looked at last"
	}
	for i, c := range x.calls[:closed] {
		if i+1 < x.from {
			continue
		}
		if x.mischief.fact == inSnapshot && c.Method == "session.snapshot" || x.mischief.fact == inInfo && c.Method == "pane.process_info" && c.Target == x.pane {
			return fmt.Sprintf("request %d (%s) reported it", i+1, c.Method)
		}
	}
	return ""
}

// tally counts what a test's schedules were.
type tally struct{ caught, window, undisturbed atomic.Int64 }

// judge checks what a schedule left behind.
func (x *trial) judge(a *Actuator, m moment, out decision.Outcome, n *tally) {
	x.t.Helper()
	fail := func(format string, args ...any) {
		x.t.Helper()
		x.t.Errorf("%s at %s: %s: %s: %s", x.mischief.name, m, fmt.Sprintf(format, args...), out.Outcome, out.Detail)
	}
	closed := slices.IndexFunc(x.calls, func(c herdr.Call) bool { return c.Method == "tab.close" })
	_, saved := os.Lstat(filepath.Join(a.Trash, act))
	switch {
	case closed < 0 && !x.changed:
		fail("nothing happened, and it was not closed")
	case closed < 0:
		n.caught.Add(1)
		if !slices.Contains([]string{decision.Changed, decision.Refused, decision.Gone}, out.Outcome) {
			fail("want it left")
		}
		if saved == nil {
			fail("something is left in the trash")
		}
		if !procs.Lives(x.pid) && x.mischief.name != "the shell ends" && x.mischief.name != "close" {
			fail("its shell is gone")
		}
	default:
		if why := x.missed(closed); why != "" {
			fail("it was closed although %s", why)
		}
		if x.changed {
			n.window.Add(1)
		} else if n.undisturbed.Add(1); out.Outcome != decision.Done {
			fail("want it done")
		}
		if slices.ContainsFunc(x.calls[closed+1:], func(c herdr.Call) bool { return c.Method == "tab.close" }) {
			fail("it was closed twice")
		}
	}
	if !x.s.HasTab(x.keep) && !x.lost {
		fail("the other tab is gone")
	}
}

// clear ends what a schedule left, so that the next one finds an empty server.
func (x *trial) clear(a *Actuator) {
	for _, id := range []string{x.tab, x.keep} {
		if x.s.HasTab(id) {
			x.s.CloseTab(id)
		}
	}
	if err := os.RemoveAll(a.Trash); err != nil {
		x.t.Error(err)
	}
}

// TestATabThatGoesLiveIsNeverClosed changes the world at a random moment of an act, hundreds of times: the tab stays whenever the
// change came before what it changes was read for the last time.
//
// What remains is the time between those last readings and the server's own handling of the close, since herdr's protocol has
// no compare-and-swap: for what a person or a client does to the tab in herdr, from the server's answer to the last snapshot
// until it takes the close up, which is a few reads of /proc, one connection and the server's own delay (up to 100 ms when it
// polls before the request is there); for what a shell does, the same without the reads of /proc; for what the server says of
// the processes in front, which /proc is asked about itself afterwards, one request more.
//
// The server here reports what the test sets, and the shells are real: only /proc shows what they do.
func TestATabThatGoesLiveIsNeverClosed(t *testing.T) {
	t.Parallel()
	const workers = 8
	schedules := stage.Trials(24, 480)
	if attack.Raced { // each takes three times as long; all of them are run without the race detector
		schedules = 64
	}
	var n tally
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			s := herdr.Start(t, herdr.Options{NoSchema: true})
			s.Tab(s.Workspace("home"), "home", quiet)
			a := actuator(t, Options{})
			r := rand.New(rand.NewPCG(7, uint64(worker)))
			var idle []*shell
			for range schedules / workers {
				x := &trial{t: t, s: s, mischief: mischiefs[r.IntN(len(mischiefs))]}
				panes := 1 + r.IntN(2)
				var specs []herdr.Pane
				for range panes {
					var sh *shell
					if k := len(idle); k > 0 {
						sh, idle = idle[k-1], idle[:k-1]
					} else {
						sh = launch(t)
					}
					x.shells, specs = append(x.shells, sh), append(specs, sh.pane())
				}
				x.work = s.Workspace("work")
				x.keep = s.Tab(x.work, "keep", quiet)
				x.tab = s.Tab(x.work, label, specs...)
				one := r.IntN(panes)
				x.pane, x.pid = s.Panes(x.tab)[one].ID, x.shells[one].pid
				x.typeIn = func(text string) { x.shells[one].typeIn(t, text) }
				m := anyMoment(r, panes)
				s.Expect("tab.close", x.tab)
				x.judge(a, m, x.play(a, m), &n)
				x.clear(a)
				for _, sh := range x.shells {
					if sh.pid == x.pid && x.changed && x.mischief.fact == inShell {
						sh.end(t)
					}
					if sh.cmd != nil {
						idle = append(idle, sh)
					}
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d were left, %d changed too late, %d closed undisturbed", n.caught.Load(), n.window.Load(), n.undisturbed.Load())
	if n.caught.Load() < int64(schedules)/2 || n.window.Load() == 0 && schedules >= 480 {
		t.Error("the schedules are not what they should be")
	}
}

// TestATabThatGoesLiveIsNeverClosedForReal does the same with panes that the server itself runs and ends.
func TestATabThatGoesLiveIsNeverClosedForReal(t *testing.T) {
	t.Parallel()
	var n tally
	var all sync.WaitGroup
	for worker := range 3 {
		all.Go(func() {
			w := fresh(t, herdr.Options{})
			a := actuator(t, Options{})
			r := rand.New(rand.NewPCG(11, uint64(worker)))
			for range 10 {
				m := mischiefs[r.IntN(len(mischiefs))]
				x := &trial{t: t, s: w.s, mischief: m, work: w.s.Workspace("work")}
				x.keep = w.s.Tab(x.work, "keep", quiet)
				x.tab = w.s.Tab(x.work, label, make([]herdr.Pane, 1+r.IntN(2))...)
				panes := w.s.Panes(x.tab)
				one := panes[r.IntN(len(panes))]
				x.pane, x.pid = one.ID, one.PID
				x.typeIn = func(text string) { w.s.Type(x.pane, text) }
				when := anyMoment(r, len(panes))
				w.s.Expect("tab.close", x.tab)
				x.judge(a, when, x.play(a, when), &n)
				x.clear(a)
			}
		})
	}
	all.Wait()
	t.Logf("%d were left, %d changed too late, %d closed undisturbed", n.caught.Load(), n.window.Load(), n.undisturbed.Load())
}

// TestTwoProgramsNeverCloseAWorkspacesLastTwoTabs has two of them each close one, at once, again and again.
func TestTwoProgramsNeverCloseAWorkspacesLastTwoTabs(t *testing.T) {
	t.Parallel()
	s := herdr.Start(t, herdr.Options{})
	s.Tab(s.Workspace("home"), "home", quiet)
	lock := filepath.Join(t.TempDir(), "lock")
	for range 10 {
		w := &world{t: t, s: s}
		work := s.Workspace("work")
		var outs [2]decision.Outcome
		var both sync.WaitGroup
		var ds [2]decision.Decision
		tabs := []string{s.Tab(work, label), s.Tab(work, label)}
		for i, tab := range tabs {
			ds[i] = w.judged(tab)
			s.Expect("tab.close", tab)
		}
		for i := range tabs {
			both.Go(func() {
				a := actuator(t, Options{Lock: lock, LockWait: wait.Patience})
				outs[i] = w.judge().Carry(t.Context(), a, ds[i])
			})
		}
		both.Wait()
		if s.HasTab(tabs[0]) == s.HasTab(tabs[1]) {
			t.Fatalf("want one of two: %v: %v", s.Tabs(), outs)
		}
		for i, tab := range tabs {
			if want := map[bool]string{true: decision.Changed, false: decision.Done}[s.HasTab(tab)]; outs[i].Outcome != want {
				t.Errorf("want %s: %v", want, outs[i])
			}
			if s.HasTab(tab) {
				s.CloseTab(tab)
			}
		}
	}
}

func TestGraspWaitsForTheLock(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{})
	other := w.s.Tab(w.work, label)
	a := actuator(t, Options{LockWait: 30 * time.Millisecond})
	d, d2 := w.judged(w.husk), w.judged(other)
	g := holdTab(t, a, d)
	_, err := a.Hold(t.Context(), act, d2)
	judge.WantErr(t, actuators.ErrRefused, err, "another program is closing a tab", a.Lock)
	if st, err := os.Lstat(a.Lock); err != nil || st.Mode() != 0o600 {
		t.Errorf("the lock: %v %v", st, err)
	}
	if st, err := os.Lstat(filepath.Dir(a.Lock)); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the lock's folder: %v %v", st, err)
	}
	// As a program that is being started at this moment has it open too.
	twin := must.Get(unix.Dup(int(g.lockF.Fd())))(t)
	defer func() { _ = unix.Close(twin) }()
	must.Do(t, g.Close())
	g2 := holdTab(t, a, d2)
	must.Do(t, g2.Close())
	// A lock on a file that lost its name keeps no other program out, so it does not count.
	f := must.Get(tryLock(a.Lock))(t)
	defer func() { _ = f.Close() }()
	must.Do(t, errors.Join(leadsTo(f, a.Lock), os.Remove(a.Lock)))
	if err := leadsTo(f, a.Lock); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("a lock without a file: %v", err)
	}
	must.Do(t, os.WriteFile(a.Lock, nil, 0o600))
	if err := leadsTo(f, a.Lock); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("a lock on another file: %v", err)
	}

	for name, lock := range map[string]func(string) string{
		"none": func(string) string { return "" },
		"a link": func(dir string) string {
			l := filepath.Join(dir, "l")
			_ = os.Symlink(filepath.Join(dir, "x"), l)
			return l
		},
		"a pipe":  func(dir string) string { l := filepath.Join(dir, "p"); _ = syscall.Mkfifo(l, 0o600); return l },
		"a place": func(dir string) string { return dir },
	} {
		b := actuator(t, Options{})
		b.Lock = lock(t.TempDir())
		_, err := b.Hold(t.Context(), act, d)
		if judge.WantErr(t, actuators.ErrRefused, err); t.Failed() {
			t.Fatal(name)
		}
	}
}
