package codev

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/test/kit/must"
	kit "github.com/winnow-reaper/winnow/test/kit/tower"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func TestEndsWhatNobodyKnows(t *testing.T) {
	t.Parallel()
	t.Run("one that listens", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		st := w.Husk(w.ws)
		id := w.identity(st)
		out := w.act(id)
		want(t, out, decision.Done, "ended when asked to", id.ID)
		if out.Freed.RSS != rss(id) || out.Open {
			t.Errorf("outcome: %+v", out)
		}
		wait.Eventually(t, "it ends", func() bool { return !w.Alive(st.ID) })
		if _, err := os.Lstat(st.Socket); err != nil {
			t.Errorf("its socket is Codev's to clear away: %v", err)
		}
		want(t, w.settle(id), decision.Done, "gone")
		want(t, w.act(id), decision.Gone, "no longer exist")
	})
	t.Run("one that does not", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).deaf()
		st := w.builder(kit.Terminal{NoRow: true, NoSession: true, Deaf: true, Exited: new(0)})
		want(t, w.act(w.identity(st)), decision.Done, "was killed")
		wait.Eventually(t, "it ends", func() bool { return !w.Alive(st.ID) })
	})
	t.Run("one that is stopped", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		f := newFake(t, w.conf(nil))
		must.Do(t, unix.Kill(f.pid, unix.SIGSTOP))
		wait.Eventually(t, "it stops", func() bool {
			text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(f.pid), "stat"))
			s, bad := proc.ParseStat(text)
			return err == nil && bad == nil && s.State == 'T'
		})
		want(t, w.act(w.unknown(f.pid)), decision.Done, "ended when asked to")
	})
	t.Run("one that was started for this very folder", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		f := newFake(t, w.conf(map[string]string{"CODEV_AGENT_FARM_DIR": w.Home() + "/"}))
		want(t, w.act(w.unknown(f.pid)), decision.Done, "ended when asked to")
	})
	t.Run("one in the folder that Codev uses by itself", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.env = map[string]string{"HOME": "/home/dev"}
		conf := w.conf(nil)
		conf["socketPath"] = "/home/dev/.codev/run/shellper-x.sock"
		f := newFake(t, conf)
		want(t, w.act(w.unknown(f.pid)), decision.Done, "ended when asked to")
	})
}

// TestSparesWhatMayHaveAnOwner lists what makes a shellper that no Tower lists one that is left, by what its command line says.
func TestSparesWhatMayHaveAnOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	socket := func(path string) map[string]any {
		conf := w.conf(nil)
		conf["socketPath"] = path
		return conf
	}
	for _, c := range []struct {
		name string
		conf map[string]any
	}{
		{"another Codev's", socket("/somewhere/run/shellper-x.sock")},
		{"one of a folder whose name begins the same", socket(w.SocketDir() + "2/shellper-x.sock")},
		{"one of a folder below", socket(w.SocketDir() + "/b/shellper-x.sock")},
		{"one whose folder ends the same", socket("/srv" + w.SocketDir() + "/shellper-x.sock")},
		{"one that listens nowhere", map[string]any{"env": map[string]string{"S": w.SocketDir() + "/shellper-x.sock"}}},
		{"one that listens at two places", map[string]any{"a": w.SocketDir() + "/x.sock", "b": "/srv/x.sock"}},
		{"another state folder's", w.conf(map[string]string{"CODEV_AGENT_FARM_DIR": "/home/dev/.agent-farm"})},
		{"another state folder's, relative", w.conf(map[string]string{"CODEV_AGENT_FARM_DIR": "home"})},
		{"an architect's", w.conf(map[string]string{"CODEV_ARCHITECT_NAME": "main"})},
	} {
		f := newFake(t, c.conf)
		w.kept(c.name, f.pid)
	}
	for _, argv := range [][]string{{"node", "/usr/lib/codev/shellper-main.js", "{"}, {"node", "/srv/server.js", `{"p":"shellper-main.js"}`},
		{"node", "/srv/shellper-main.js.bak", "{}"}, {"node", "shellper-main.js"},
		{"node", "shellper-main.js", `{"socketPath":"` + w.SocketDir() + `/x.sock"}`, "{"}} {
		f := startFake(t, argv...)
		w.kept(strings.Join(argv, " "), f.pid)
	}
	f := newFake(t, w.conf(nil))
	w.env = map[string]string{}
	w.kept("one of a Codev whose sockets are not known", f.pid)
}

// kept makes sure that a process is not a terminal that is to be reaped.
func (w *world) kept(name string, pid int) {
	w.t.Helper()
	if d, err := w.judged(w.t.Context(), "pid-"+strconv.Itoa(pid)); err != nil || d.ID != "" && d.Verdict != decision.Spare {
		w.t.Errorf("%s: %+v, %v", name, d, err)
	}
}

// TestSparesWhatIsUsed has something begin to live below a shellper, at every moment of an act and between the two signals.
func TestSparesWhatIsUsed(t *testing.T) {
	t.Parallel()
	for order, says := range map[string]string{
		"child":       "has begun to live below pid",
		"own session": "has begun to live below pid",
		"background":  "has begun to live below pid",
		"terminal":    "has begun to use the terminal",
	} {
		for _, when := range []string{"decided", "held", "last", StepTerm} {
			t.Run(order+", "+when, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				f := newFake(t, w.conf(nil))
				w.unknown(f.pid)
				use := func(moment string) {
					if moment == when {
						f.child(order)
					}
				}
				w.o.Step = use
				out := w.carry(t.Context(), w.decided["pid-"+strconv.Itoa(f.pid)], use)
				want(t, out, decision.Changed, "left untouched")
				if when == "last" || when == StepTerm {
					want(t, out, decision.Changed, says)
				}
				w.kept(order, f.pid)
				if !f.alive() {
					t.Error("it was ended")
				}
			})
		}
	}
	t.Run("after it was asked to end", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).short()
		f := newFake(t, w.conf(nil))
		if got := f.order("breed"); got != "ok" {
			t.Fatal(got)
		}
		id := w.unknown(f.pid)
		want(t, w.act(id), decision.Changed, "has begun to live below pid", "was not killed", "next sweep")
		if !f.alive() {
			t.Error("it was killed")
		}
		want(t, w.settle(id), decision.Failed, "still runs", "may have been asked to end")
	})
}

// TestKnownAfterAll has the Tower list what was unknown before, by its id or by its pid.
func TestKnownAfterAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	st, husk := w.builder(kit.Terminal{}), w.Husk(w.ws)
	id := w.identity(husk)
	for _, when := range moments {
		w.SetPID(st.ID, st.PID)
		want(t, w.carry(t.Context(), w.decided[id.ID], func(moment string) {
			if moment == when {
				w.SetPID(st.ID, husk.PID)
			}
		}), map[bool]string{true: decision.Gone, false: decision.Changed}[when != "last"])
	}
	want(t, w.direct(id), decision.Changed, "says now of it", "left untouched")
	want(t, w.settle(id), decision.Failed, "the Tower lists it")
	w.untouched(st)
	w.untouched(husk)
}

func TestEndInterrupted(t *testing.T) {
	t.Parallel()
	pressed := errors.New("a key was pressed")
	w := newWorld(t)
	f := newFake(t, w.conf(nil))
	f.order("ignore")
	id := w.unknown(f.pid)
	ctx, cancel := context.WithCancelCause(t.Context())
	w.o.Step = func(string) { cancel(pressed) }
	want(t, w.do(ctx, w.held(id), id), decision.Failed, pressed.Error(), "left untouched")
	// The second time it has been asked to end.
	w.o.Step = nil
	ctx, cancel = context.WithCancelCause(t.Context())
	go func() {
		f.out.ReadString('\n')
		cancel(pressed)
	}()
	w.o.TermGrace = time.Hour
	want(t, w.do(ctx, w.held(id), id), decision.Failed, pressed.Error(), "asked to end", "was not killed", "next sweep")
	if !f.alive() {
		t.Error("it was ended")
	}
}

// outlive has the Tower close a development server by forgetting it, as one does that is restarted: the answer is lost, and the process
// lives on.
func outlive(w *world, st kit.TerminalState) {
	w.answered(http.MethodDelete, kit.DeleteDoesNothing)
	w.After(func(_ int, c kit.Call) {
		if c.Method == http.MethodDelete {
			w.Restart()
		}
	})
	w.expect(st.ID)
}

// TestOutlivesItsTerminal has a process live on although the Tower does not list its terminal any more.
func TestOutlivesItsTerminal(t *testing.T) {
	t.Parallel()
	t.Run("is ended", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).short()
		st := w.builder(kit.Terminal{Dev: true})
		id := w.identity(st)
		outlive(w, st)
		out := w.act(id)
		want(t, out, decision.Done, "no longer lists it, but its process", "still ran", "ended when asked to")
		if out.Freed.RSS != rss(id) || w.Registered(st.ID) {
			t.Errorf("outcome: %+v", out)
		}
		wait.Eventually(t, "it ends", func() bool { return !w.Alive(st.ID) })
	})
	t.Run("is killed where it does not listen", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).short().deaf()
		st := w.builder(kit.Terminal{Dev: true, Deaf: true})
		id := w.identity(st)
		outlive(w, st)
		want(t, w.act(id), decision.Done, "still ran", "was killed")
		wait.Eventually(t, "it ends", func() bool { return !w.Alive(st.ID) })
	})
	t.Run("is left after an interruption", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).short()
		st := w.builder(kit.Terminal{Dev: true})
		id := w.identity(st)
		outlive(w, st)
		ctx, cancel := context.WithCancelCause(t.Context())
		w.o.Step = func(step string) {
			if step == StepReadBack {
				cancel(errors.New("a key was pressed"))
			}
		}
		want(t, w.do(ctx, w.held(id), id), decision.Failed, "still ran", "a key was pressed", "next sweep")
		if !w.Alive(st.ID) {
			t.Error("it was ended")
		}
		want(t, w.settle(id), decision.Failed, "the Tower does not list it", "still runs")
	})
	t.Run("is left where it may be another Codev's", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).short()
		st := w.builder(kit.Terminal{Dev: true})
		id := w.identity(st)
		w.env["SHELLPER_SOCKET_DIR"] = filepath.Join(w.SocketDir(), "else")
		outlive(w, st)
		want(t, w.direct(id), decision.Failed, "still ran", "another Codev's", "next sweep")
		if !w.Alive(st.ID) {
			t.Error("it was ended")
		}
	})
	t.Run("is ended where the store alone says that it is this Codev's", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).short()
		w.env["SHELLPER_SOCKET_DIR"] = filepath.Join(w.SocketDir(), "else")
		w.Terminal(w.ws, kit.Terminal{Type: "shell"}) // its row names the folder
		st := w.builder(kit.Terminal{Dev: true})
		id := w.identity(st)
		outlive(w, st)
		want(t, w.act(id), decision.Done, "no longer lists it, but its process", "ended when asked to")
	})
	t.Run("and an unknown one, where the store alone says so", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.env["SHELLPER_SOCKET_DIR"] = filepath.Join(w.SocketDir(), "else")
		w.Terminal(w.ws, kit.Terminal{Type: "shell"})
		want(t, w.act(w.unknown(newFake(t, w.conf(nil)).pid)), decision.Done, "ended when asked to")
	})
	t.Run("may end by itself", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).short()
		st := w.builder(kit.Terminal{Dev: true})
		id := w.identity(st)
		outlive(w, st)
		w.o.Step = func(step string) {
			if step == StepTerm {
				end(t, st.PID)
			}
		}
		want(t, w.act(id), decision.Done, "is closed", "has ended")
	})
}

// TestKilledInTheMiddle kills Winnow at every step, and has the next sweep find out and finish.
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step, kind    string
		settled, says string
	}{
		{StepClose, "builder", decision.Failed, "interrupted before it was closed"},
		{StepReadBack, "builder", decision.Done, "settled after an interruption"},
		{StepTerm, "shellper", decision.Failed, "interrupted before its process was ended"},
		{StepKill, "shellper", decision.Failed, "may have been asked to end"},
		{StepTerm, "dev", decision.Failed, "the Tower does not list it; its process"},
	} {
		t.Run(strings.Join([]string{c.step, c.kind}, " of a "), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).short()
			if c.kind == "shellper" {
				w.deaf()
			}
			var st kit.TerminalState
			var id decision.Terminal
			switch c.kind {
			case "shellper":
				st = w.builder(kit.Terminal{NoRow: true, NoSession: true, Deaf: true, Exited: new(0)})
				id = w.identity(st)
			case "dev":
				st = w.builder(kit.Terminal{Dev: true})
				id = w.identity(st)
				outlive(w, st)
			default:
				st = w.builder(kit.Terminal{})
				id = w.identity(st)
				if c.step == StepReadBack {
					w.expect(st.ID)
				}
			}
			w.killedAt(c.step, id)
			out := w.settle(id)
			want(t, out, c.settled, c.says)
			if out.Open || (out.Outcome == decision.Done) == w.Alive(st.ID) {
				t.Errorf("settled %+v, alive %v", out, w.Alive(st.ID))
			}
			again := w.settle(id)
			if again != out {
				t.Errorf("settled again: %+v", again)
			}
			// The next sweep gets it done.
			switch {
			case c.settled == decision.Done:
				want(t, w.act(id), decision.Gone)
			case c.kind == "dev": // what lives below it is not judged by this act
				w.Exit(st.ID, 0)
				id = w.unknown(st.PID)
				want(t, w.act(id), decision.Done, "ended when asked to")
			case c.kind == "builder":
				w.expect(st.ID)
				want(t, w.act(id), decision.Done)
			default:
				want(t, w.act(id), decision.Done, "was killed")
			}
		})
	}
}

func TestSettleBeforeThisBoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	st := w.Husk(w.ws)
	id := w.identity(st)
	id.Process.BootID = "another"
	out := w.settle(id)
	want(t, out, decision.Gone, "before this boot")
	if out.Freed.RSS != 0 {
		t.Errorf("outcome: %+v", out)
	}
	w.untouched(st)
}
