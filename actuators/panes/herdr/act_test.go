package herdr

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	wire "github.com/winnow-reaper/winnow/internal/sys/herdr"
	"github.com/winnow-reaper/winnow/test/kit/herdr"
	"github.com/winnow-reaper/winnow/test/kit/judge"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func TestDoClosesThatTabAndNoOther(t *testing.T) {
	t.Parallel()
	for _, p := range []herdr.Profile{herdr.V071, herdr.V074, herdr.V075, herdr.V080, herdr.V082, herdr.V091} {
		for _, nulls := range []bool{false, true} {
			t.Run(string(p), func(t *testing.T) {
				t.Parallel()
				w := fresh(t, herdr.Options{Profile: p, Nulls: nulls, Labels: nulls}, herdr.Pane{}, herdr.Pane{})
				var steps []string
				a := actuator(t, Options{Step: func(name string) { steps = append(steps, name) }})
				first := w.s.Panes(w.husk)[0]
				w.s.Type(first.ID, "echo the-$((20+3))-lines\n")
				wait.Eventually(t, "the pane's output", func() bool { return strings.Contains(w.s.Output(first.ID), "the-23-lines") })
				d := w.judged(w.husk)
				w.s.Expect("tab.close", w.husk)
				g := holdTab(t, a, d)
				out := g.do(t.Context(), d)
				judge.WantOutcome(t, decision.Done, out, label, "is gone, and 2 of its 2 processes with it", "text of 2 panes is saved")
				if out.Freed.RSS <= 0 {
					t.Errorf("freed %d bytes of memory", out.Freed.RSS)
				}
				if w.s.HasTab(w.husk) || !w.s.HasTab(w.keep) || !w.s.HasTab(w.home) {
					t.Errorf("tabs: %v", w.s.Tabs())
				}
				must.Equal(t, []string{StepSave, StepCheck, StepClose, StepReadBack}, steps, "steps")
				for name, want := range map[string]os.FileMode{".": 0o700 | os.ModeDir, "pane-0.txt": 0o600, "pane-1.txt": 0o600, "manifest.json": 0o600} {
					st, err := os.Lstat(filepath.Join(g.plan.Folder, name))
					if err != nil || st.Mode() != want {
						t.Errorf("%s: want mode %v, got %v", name, want, err)
					}
				}
				var text string
				for i, p := range g.plan.Panes {
					if p.ID == first.ID {
						b, err := os.ReadFile(filepath.Join(g.plan.Folder, panes.File(i)))
						if text = string(b); err != nil {
							t.Error(err)
						}
					}
				}
				if !strings.Contains(text, "the-23-lines\n") {
					t.Errorf("saved %q", text)
				}
			})
		}
	}
}

// TestDoAsksAsLittleAsItCan counts the requests for a tab with one pane, of which the last before the close is the snapshot.
func TestDoAsksAsLittleAsItCan(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{})
	d := w.judged(w.husk)
	before := len(w.s.Calls())
	w.s.Expect("tab.close", w.husk)
	judge.WantOutcome(t, decision.Done, attempt(t, actuator(t, Options{}), d))
	var got []string
	for _, c := range w.s.Calls()[before:] {
		got = append(got, c.Method)
	}
	want := []string{"pane.read", "pane.process_info", "session.snapshot", "tab.close", "session.snapshot"}
	must.Equal(t, want, got, "requests")
}

func TestDoTakesTheJudgedHelpersOfAShell(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{})
	p := w.s.Panes(w.husk)[0]
	w.s.Type(p.ID, "sleep 1000 &\n")
	wait.Eventually(t, "a background job", func() bool { return len(procs.SessionPIDs(p.PID)) == 2 })
	d := w.decided(w.judge(), w.husk) // which the policies would keep
	w.s.Expect("tab.close", w.husk)
	judge.WantOutcome(t, decision.Done, attempt(t, actuator(t, Options{}), d), "2 of its 2 processes")
	for _, pid := range d.Identity.Tab.Panes[0].Members {
		if procs.Lives(pid) {
			t.Errorf("pid %d lives on", pid)
		}
	}
}

// change is something that happens to a world while a tab is being closed.
type happening struct {
	name string
	do   func(*testing.T, *world, *decision.Tab)
	want string
	word string
}

// pingsOnly is the change after which the server hangs.
const pingsOnly = "the server answers pings only"

var changes = []happening{
	{"a key is pressed", func(t *testing.T, w *world, d *decision.Tab) {
		awake(t, d.Panes[0].PID, func(text string) { w.s.Type(d.Panes[0].ID, text) })
	}, decision.Changed, "a key was pressed"},
	{"a command runs", func(t *testing.T, w *world, d *decision.Tab) {
		w.s.Type(d.Panes[0].ID, "sleep 1000\n")
		wait.Eventually(t, "a command", func() bool { return len(procs.SessionPIDs(d.Panes[0].PID)) == 2 })
	}, decision.Changed, ""},
	{"a command runs in the background", func(t *testing.T, w *world, d *decision.Tab) {
		w.s.Type(d.Panes[0].ID, "sleep 1000 &\n")
		wait.Eventually(t, "a command", func() bool { return len(procs.SessionPIDs(d.Panes[0].PID)) == 2 })
	}, decision.Changed, "was not judged"},
	{"a command leaves the session", func(t *testing.T, w *world, d *decision.Tab) {
		w.s.Type(d.Panes[0].ID, "set +m\nsetsid sleep 1000 &\n")
		wait.Eventually(t, "a command", func() bool {
			return slices.ContainsFunc(procs.All(), func(p procs.Process) bool {
				return p.Parent == d.Panes[0].PID && p.Session != d.Panes[0].PID && p.Name == "sleep"
			})
		})
	}, decision.Changed, "has left its session"},
	{"its shell becomes a program", func(t *testing.T, w *world, d *decision.Tab) {
		w.s.Type(d.Panes[0].ID, "exec sleep 1000\n")
		wait.Eventually(t, "a program", func() bool { return procs.Name(d.Panes[0].PID) == "sleep" })
	}, decision.Changed, `"sleep"`},
	{"its shell is busy with itself", func(t *testing.T, w *world, d *decision.Tab) {
		w.s.Type(d.Panes[0].ID, "while :; do :; done\n")
		wait.Eventually(t, "a busy shell", func() bool { return procs.State(d.Panes[0].PID) == 'R' })
	}, decision.Changed, "does not wait"},
	{"its shell ends", func(t *testing.T, w *world, d *decision.Tab) {
		w.s.Split(d.ID, herdr.Pane{}) // so that the tab stays
		w.s.Type(d.Panes[0].ID, "exit\n")
		wait.Eventually(t, "the shell ends", func() bool { return len(w.s.Panes(d.ID)) == 1 })
	}, decision.Changed, ""},
	{"its shell is started again", func(_ *testing.T, w *world, d *decision.Tab) { w.s.LaunchAgain(d.Panes[0].ID) }, decision.Changed, "shell"},
	{"it is split", func(_ *testing.T, w *world, d *decision.Tab) { w.s.Split(d.ID, herdr.Pane{}) }, decision.Changed, "another terminal"},
	{"it is renamed", func(_ *testing.T, w *world, d *decision.Tab) { w.s.Rename(d.ID, "mine") }, decision.Changed, `"mine"`},
	{"it is focused", func(_ *testing.T, w *world, d *decision.Tab) { w.s.Focus(d.ID) }, decision.Changed, "focus true"},
	{"an agent works in it", func(_ *testing.T, w *world, d *decision.Tab) { w.s.SetStatus(d.Panes[0].ID, "working") }, decision.Changed, `"working"`},
	{"an agent has finished in it", func(_ *testing.T, w *world, d *decision.Tab) { w.s.SetStatus(d.Panes[0].ID, "done") }, decision.Changed, `"done"`},
	{"another client closes the other tab", func(_ *testing.T, w *world, _ *decision.Tab) { w.s.CloseTab(w.keep) }, decision.Changed, "listed 1"},
	{"it is closed", func(_ *testing.T, w *world, d *decision.Tab) { w.s.CloseTab(d.ID) }, decision.Gone, "no longer exist"},
	{"its pane is moved", func(_ *testing.T, w *world, d *decision.Tab) { w.s.MovePane(d.Panes[0].ID, w.home) }, decision.Changed, "moved to tab"},
	{"another pane is moved in", func(_ *testing.T, w *world, d *decision.Tab) {
		w.s.MovePane(w.s.Split(w.keep, quiet), d.ID)
	}, decision.Changed, "another terminal"},
	{"a pane is not listed", func(_ *testing.T, w *world, d *decision.Tab) { w.s.Hide(d.Panes[0].ID) }, decision.Changed, "0 are listed"},
	{"the server starts again", func(_ *testing.T, w *world, _ *decision.Tab) { w.s.Restart() }, decision.Changed, ""},
	{"the server is handed over", func(_ *testing.T, w *world, _ *decision.Tab) { w.s.Handoff() }, decision.Changed, "another terminal"},
	{"the server ends", func(_ *testing.T, w *world, _ *decision.Tab) { w.s.Stop(true) }, decision.Gone, "server"},
	{pingsOnly, func(_ *testing.T, w *world, _ *decision.Tab) { w.s.Wedge(true) }, decision.Refused, "no answer in time"},
	{"the server does not know the processes", func(_ *testing.T, w *world, d *decision.Tab) { w.s.ProcessInfo(d.Panes[0].ID, herdr.Omitted) },
		decision.Refused, "does not say"},
	{"the server knows of no process", func(_ *testing.T, w *world, d *decision.Tab) { w.s.ProcessInfo(d.Panes[0].ID, herdr.EmptyList) },
		decision.Refused, "does not say"},
	{"the server knows of no pane", func(_ *testing.T, w *world, d *decision.Tab) { w.s.ProcessInfo(d.Panes[0].ID, herdr.NotFound) },
		decision.Refused, "pane_not_found"},
	{"the server cannot read the processes", func(_ *testing.T, w *world, d *decision.Tab) { w.s.ProcessInfo(d.Panes[0].ID, herdr.Erring) },
		decision.Refused, "internal_error"},
	{"the server sees a second process in front", func(_ *testing.T, w *world, d *decision.Tab) {
		w.s.ProcessInfo(d.Panes[0].ID, func(_ int, real herdr.Info) herdr.Info {
			real.Foreground = append(real.Foreground, herdr.Proc{PID: os.Getpid(), Name: "agent"})
			return real
		})
	}, decision.Changed, "says now"},
	{"the server sees another process in front", func(_ *testing.T, w *world, d *decision.Tab) {
		w.s.ProcessInfo(d.Panes[0].ID, func(_ int, real herdr.Info) herdr.Info {
			real.Foreground = []herdr.Proc{{PID: os.Getpid(), Name: "agent"}}
			return real
		})
	}, decision.Changed, "says now"},
	{"the server sees another group in front", func(_ *testing.T, w *world, d *decision.Tab) {
		w.s.ProcessInfo(d.Panes[0].ID, func(_ int, real herdr.Info) herdr.Info {
			real.ForegroundPGID = os.Getpid()
			return real
		})
	}, decision.Changed, "says now"},
	{"the server does not know the group in front", func(_ *testing.T, w *world, d *decision.Tab) {
		w.s.ProcessInfo(d.Panes[0].ID, func(_ int, real herdr.Info) herdr.Info {
			real.ForegroundPGID = 0
			return real
		})
	}, decision.Changed, "group unknown"},
	{"the server does not know the shell", func(_ *testing.T, w *world, d *decision.Tab) {
		w.s.ProcessInfo(d.Panes[0].ID, func(_ int, real herdr.Info) herdr.Info {
			real.ShellPID = 0
			return real
		})
	}, decision.Refused, "does not say"},
	{"the server names the shell as it is not called here", func(_ *testing.T, w *world, d *decision.Tab) {
		w.s.ProcessInfo(d.Panes[0].ID, func(_ int, real herdr.Info) herdr.Info {
			real.Foreground[0].Name = "zsh"
			return real
		})
	}, decision.Changed, `"zsh"`},
}

// TestNothingIsClosedThatChanged makes each change once before the act, where the judge finds it, and once after the last judgement, where
// only what is read right before the close can.
func TestNothingIsClosedThatChanged(t *testing.T) {
	t.Parallel()
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			if c.name == pingsOnly {
				stage.NeedSecond(t, "it waits for answers that never come")
			}
			t.Parallel()
			for _, late := range []bool{false, true} {
				if !late && c.name == "a key is pressed" { // then there is nothing yet to compare with
					continue
				}
				w := fresh(t, herdr.Options{})
				a := actuator(t, Options{})
				d := w.judged(w.husk)
				word := ""
				if late {
					word = c.word
					a.Step = func(step string) {
						if step == StepCheck {
							c.do(t, w, d.Identity.Tab)
						}
					}
				} else {
					c.do(t, w, d.Identity.Tab)
				}
				within := wait.Patience
				if c.name == pingsOnly { // nothing else is answered, however long it is waited for
					a.patience, within = 3*time.Second, 20*time.Second
				}
				out := w.judge().Carry(wait.Within(t, within), a, d)
				if late && out.Outcome != c.want || !slices.Contains([]string{decision.Changed, decision.Refused, decision.Gone}, out.Outcome) {
					t.Errorf("late %v: want %s, got %s: %s", late, c.want, out.Outcome, out.Detail)
				}
				if !strings.Contains(out.Detail, word) {
					t.Errorf("late %v: it does not say %q: %s", late, word, out.Detail)
				}
				w.wantUntouched(a)
			}
		})
	}
}

func TestDoKeepsNoTextThatTheServerDoesNotGive(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{})
	w.s.Fault(func(_ int, c herdr.Call) herdr.Fault {
		if c.Method == "pane.read" {
			return herdr.ErrorReply("invalid_request", "unknown variant `pane.read`")
		}
		return herdr.Fault{}
	})
	d := w.judged(w.husk)
	a := actuator(t, Options{})
	w.s.Expect("tab.close", w.husk)
	judge.WantOutcome(t, decision.Done, attempt(t, a, d), "no text of its panes was kept")
}

func TestDoRefusesWhereTheTextCannotBeSaved(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]herdr.Fault{
		"an error": herdr.ErrorReply("internal_error", "no"), "garbage": herdr.Garbage, "half": herdr.PartialLine, "nothing": herdr.LostReply,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := fresh(t, herdr.Options{})
			w.s.Fault(func(_ int, c herdr.Call) herdr.Fault {
				if c.Method == "pane.read" {
					return f
				}
				return herdr.Fault{}
			})
			a := actuator(t, Options{})
			judge.WantOutcome(t, decision.Refused, attempt(t, a, w.judged(w.husk)), "save the text")
			w.wantUntouched(a)
		})
	}
	w := fresh(t, herdr.Options{})
	a := actuator(t, Options{})
	must.Do(t, os.MkdirAll(filepath.Join(a.Trash, act), 0o700))
	judge.WantOutcome(t, decision.Refused, attempt(t, a, w.judged(w.husk)), "trash")
}

// TestDoFindsOutHowACloseWent lets the one tab.close go wrong in every way.
func TestDoFindsOutHowACloseWent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		fault  herdr.Fault
		want   string
		word   string
		closed bool
		open   bool
		kept   bool
	}{
		{"slowly", herdr.SplitReply, decision.Done, "is gone", true, false, true},
		{"at length", herdr.HugeReply, decision.Done, "is gone", true, false, true},
		{"closed, and the answer is lost", herdr.LostReply, decision.Done, "is gone", true, false, true},
		{"closed, and half of the answer comes", herdr.PartialLine, decision.Done, "is gone", true, false, true},
		{"closed, and the answer is no JSON", herdr.Garbage, decision.Done, "is gone", true, false, true},
		{"closed, and it hangs", herdr.HangBeforeReply, decision.Done, "is gone", true, false, true},
		{"not closed, and no answer comes", herdr.CloseWithoutReply, decision.Failed, "still lists it", false, true, true},
		{"not closed, and it hangs", herdr.HangAfterAccept, decision.Failed, "still lists it", false, true, true},
		{"wedged", herdr.Wedged, decision.Failed, "not known", false, true, true},
		{"an unknown code", herdr.ErrorReply("server_unavailable", "later"), decision.Failed, "still lists it", false, true, true},
		{"not found", herdr.ErrorReply("tab_not_found", "tab ID not found"), decision.Gone, "was gone", false, false, false},
		{"the last tab", herdr.ErrorReply("tab_close_failed", "cannot close the last tab in a workspace"), decision.Refused, "last tab", false, false, false},
		{"not understood", herdr.ErrorReply("invalid_request", "unknown variant"), decision.Refused, "invalid_request", false, false, false},
		{"the user is asked", herdr.ErrorReply("confirmation_required", "group"), decision.Failed, "IN A DIALOG NOW", false, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := fresh(t, herdr.Options{})
			w.s.Fault(func(_ int, call herdr.Call) herdr.Fault {
				if call.Method == "tab.close" {
					return c.fault
				}
				return herdr.Fault{}
			})
			a := actuator(t, Options{})
			a.patience = 3 * time.Second
			w.s.Expect("tab.close", w.husk)
			d := w.judged(w.husk)
			g := holdTab(t, a, d)
			out := g.do(t.Context(), d)
			_ = g.Close()
			judge.WantOutcome(t, c.want, out, c.word)
			if out.Open != c.open {
				t.Errorf("want it open: %v, got %v", c.open, out.Open)
			}
			if w.s.HasTab(w.husk) == c.closed || !w.s.HasTab(w.keep) {
				t.Errorf("tabs: %v", w.s.Tabs())
			}
			if _, err := os.Lstat(filepath.Join(a.Trash, act, panes.Manifest)); (err == nil) != c.kept {
				t.Errorf("want what was saved kept: %v, got %v", c.kept, err)
			}
			if c.open != (out.RestoreUntil != nil) { // the carrier adds it to what is done
				t.Errorf("restore until %v", out.RestoreUntil)
			}
			if n := len(w.s.Mutations()); n != 1 {
				t.Errorf("%d requests to change something", n)
			}
		})
	}
}

// TestDoCannotBeInterruptedHalfway ends the sweep while the close is under way, and right before it.
func TestDoCannotBeInterruptedHalfway(t *testing.T) {
	t.Parallel()
	for step, want := range map[string]string{StepSave: decision.Refused, StepCheck: decision.Refused, StepClose: decision.Done, StepReadBack: decision.Done} {
		w := fresh(t, herdr.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		a := actuator(t, Options{Step: func(name string) {
			if name == step {
				cancel()
			}
		}})
		d := w.judged(w.husk)
		g := holdTab(t, a, d)
		if want == decision.Done {
			w.s.Expect("tab.close", w.husk)
		}
		judge.WantOutcome(t, want, g.do(ctx, d))
		_ = g.Close()
		if want != decision.Done {
			w.wantUntouched(a)
		}
	}
}

func TestBuryEndsWhatOutlivesTheClose(t *testing.T) {
	t.Parallel()
	sh := launch(t)
	w := fresh(t, herdr.Options{}, sh.pane()) // of which the server ends nothing
	sh.typeIn(t, "sleep 1000 &\n")
	wait.Eventually(t, "a background job", func() bool { return len(procs.SessionPIDs(sh.pid)) == 2 })
	var steps []string
	a := actuator(t, Options{Step: func(name string) { steps = append(steps, name) }})
	d := w.decided(w.judge(), w.husk) // which the policies would keep
	w.s.Expect("tab.close", w.husk)
	out := attempt(t, a, d)
	judge.WantOutcome(t, decision.Done, out, "2 of its 2 processes", "2 of them outlived the close and were signalled")
	if out.Freed.RSS <= 0 {
		t.Errorf("freed %d bytes", out.Freed.RSS)
	}
	for _, pid := range d.Identity.Tab.Panes[0].Members {
		if procs.Lives(pid) {
			t.Errorf("pid %d lives on", pid)
		}
	}
	if want := []string{StepSave, StepCheck, StepClose, StepReadBack, StepTerm, StepKillLeft}; !slices.Equal(want, steps) {
		t.Errorf("steps: want %v, got %v", want, steps)
	}
}

// TestBurySparesWhatWasNotJudgedOrHasLeft has one judged process leave the session, and a new one start, right before the close.
func TestBurySparesWhatWasNotJudgedOrHasLeft(t *testing.T) {
	t.Parallel()
	sh := launch(t)
	w := fresh(t, herdr.Options{}, sh.pane())
	sh.typeIn(t, "set +m\nsh -c 'trap \"exec setsid sleep 1000\" USR1; while :; do sleep 1000 & wait; done' &\n")
	wait.Eventually(t, "its processes", func() bool { return len(procs.SessionPIDs(sh.pid)) == 3 })
	a := actuator(t, Options{})
	d := w.decided(w.judge(), w.husk) // which the policies would keep
	var leaver, stranger int
	for _, pid := range d.Identity.Tab.Panes[0].Members {
		if pid != sh.pid && procs.Name(pid) == "sh" {
			leaver = pid
		}
	}
	a.Step = func(step string) {
		if step == StepClose {
			if err := syscall.Kill(leaver, syscall.SIGUSR1); err != nil {
				t.Error(err)
			}
			wait.Eventually(t, "a process that left", func() bool { return procs.Name(leaver) == "sleep" })
			sh.typeIn(t, "sh -c 'trap \"\" HUP; exec sleep 1001' &\n")
			wait.Eventually(t, "a process that was not judged", func() bool {
				for _, pid := range procs.SessionPIDs(sh.pid) {
					if !slices.Contains(d.Identity.Tab.Panes[0].Members, pid) {
						stranger = pid
					}
				}
				return stranger != 0 && procs.Name(stranger) == "sleep"
			})
		}
	}
	t.Cleanup(func() { _ = syscall.Kill(leaver, syscall.SIGKILL) })
	w.s.Expect("tab.close", w.husk)
	out := attempt(t, a, d)
	judge.WantOutcome(t, decision.Done, out, "has left its session")
	if !procs.Lives(leaver) || !procs.Lives(stranger) {
		t.Errorf("the process that left lives: %v, the one that was not judged: %v", procs.Lives(leaver), procs.Lives(stranger))
	}
	if procs.Lives(sh.pid) {
		t.Error("the shell lives on")
	}
}

// TestBurySparesAPaneThatWasMovedAway moves one of two panes to another tab between the last look and the close.
func TestBurySparesAPaneThatWasMovedAway(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{}, herdr.Pane{}, herdr.Pane{})
	a := actuator(t, Options{})
	d := w.judged(w.husk)
	moved := d.Identity.Tab.Panes[0]
	a.Step = func(step string) {
		if step == StepClose {
			w.s.MovePane(moved.ID, w.home)
		}
	}
	w.s.Expect("tab.close", w.husk)
	out := attempt(t, a, d)
	judge.WantOutcome(t, decision.Done, out, "its pane was moved", "1 of its 2 processes")
	if !procs.Lives(moved.PID) {
		t.Error("the shell of the pane that was moved was ended")
	}
	if panes := w.s.Panes(w.home); len(panes) != 2 {
		t.Errorf("panes of the other tab: %v", panes)
	}
}

// TestBuryEndsNothingForAnotherServer has a look after the close that another process answers, or none.
func TestBuryEndsNothingForAnotherServer(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{})
	g := holdTab(t, actuator(t, Options{}), w.judged(w.husk))
	for _, v := range []*wire.World{nil, {Server: g.id.ServerPID + 1}} {
		out := g.bury(t.Context(), &whereabouts{view: v})
		judge.WantOutcome(t, decision.Done, out, "0 of its 1 process", "the server is no longer the one")
	}
	if !procs.Lives(g.members[0].PID) {
		t.Error("its shell was ended")
	}
}

func TestDoLeavesPanesThatWereAllMovedAway(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{})
	a := actuator(t, Options{})
	d := w.judged(w.husk)
	w.s.Fault(func(_ int, c herdr.Call) herdr.Fault {
		if c.Method == "tab.close" {
			w.s.MovePane(d.Identity.Tab.Panes[0].ID, w.keep)
			return herdr.CloseWithoutReply
		}
		return herdr.Fault{}
	})
	w.s.Expect("tab.close", w.husk)
	judge.WantOutcome(t, decision.Changed, attempt(t, a, d), "in another tab")
	if !procs.Lives(d.Identity.Tab.Panes[0].PID) {
		t.Error("its shell was ended")
	}
	wantNothingSaved(t, a)
}

// TestDoLeavesAHandedOverTab hands the server over while the close is under way: its shells live on under the same ids.
func TestDoLeavesAHandedOverTab(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{})
	a := actuator(t, Options{})
	d := w.judged(w.husk)
	w.s.Fault(func(_ int, c herdr.Call) herdr.Fault {
		if c.Method == "tab.close" {
			w.s.Handoff()
			return herdr.CloseWithoutReply
		}
		return herdr.Fault{}
	})
	w.s.Expect("tab.close", w.husk)
	out := attempt(t, a, d)
	judge.WantOutcome(t, decision.Failed, out, "still lists it")
	if !out.Open || !procs.Lives(d.Identity.Tab.Panes[0].PID) || !w.s.HasTab(w.husk) {
		t.Errorf("open %v, tabs %v", out.Open, w.s.Tabs())
	}
}

// TestDoTellsThatTheWorkspaceWentToo closes the workspace's other tab in the one moment that no check can cover.
func TestDoTellsThatTheWorkspaceWentToo(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{})
	a := actuator(t, Options{Step: func(step string) {
		if step == StepClose {
			w.s.CloseTab(w.keep)
		}
	}})
	w.s.Expect("tab.close", w.husk)
	judge.WantOutcome(t, decision.Done, attempt(t, a, w.judged(w.husk)), "WORKSPACE", "IS GONE TOO")

	w = fresh(t, herdr.Options{Profile: herdr.V075})
	a.Step = func(step string) {
		if step == StepClose {
			w.s.CloseTab(w.keep)
		}
	}
	w.s.Expect("tab.close", w.husk)
	_ = os.RemoveAll(a.Trash)
	judge.WantOutcome(t, decision.Refused, attempt(t, a, w.judged(w.husk)), "tab_close_failed")

	w = fresh(t, herdr.Options{})
	third := w.s.Tab(w.work, "third", quiet)
	a.Step = func(step string) {
		if step == StepClose {
			w.s.CloseTab(third)
		}
	}
	w.s.Expect("tab.close", w.husk)
	_ = os.RemoveAll(a.Trash)
	judge.WantOutcome(t, decision.Done, attempt(t, a, w.judged(w.husk)), "another program or person closed "+third)
}
