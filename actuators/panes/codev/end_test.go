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

	"winnow/actuators/panes"
	"winnow/engine/decision"
	"winnow/testkit/tower"
)

func TestEndsWhatNobodyKnows(t *testing.T) {
	t.Parallel()
	t.Run("one that listens", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		st := w.Husk(w.ws)
		id := w.identity(st, shellper, "")
		out := w.act(id)
		want(t, out, decision.Done, "ended when asked to", id.ID)
		if out.Freed.RSS != rss || out.Open {
			t.Errorf("outcome: %+v", out)
		}
		eventually(t, "it ends", func() bool { return !w.Alive(st.ID) })
		if _, err := os.Lstat(st.Socket); err != nil {
			t.Errorf("its socket is Codev's to clear away: %v", err)
		}
		want(t, w.settle(id), decision.Done, "gone")
		want(t, w.act(id), decision.Gone, "has ended")
	})
	t.Run("one that does not", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).short()
		st := w.builder(tower.Terminal{NoRow: true, NoSession: true, Deaf: true, Exited: new(0)})
		want(t, w.act(w.identity(st, shellper, "")), decision.Done, "was killed")
		eventually(t, "it ends", func() bool { return !w.Alive(st.ID) })
	})
	t.Run("one that is stopped", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		f := newFake(t, w.conf(nil))
		if err := unix.Kill(f.pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it stops", func() bool {
			text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(f.pid), "stat"))
			s, bad := panes.ParseStat(text)
			return err == nil && bad == nil && s.State == 'T'
		})
		want(t, w.act(w.unknown(f.pid)), decision.Done, "ended when asked to")
	})
	t.Run("one whose builder's terminal the Tower lost", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		st := w.builder(tower.Terminal{Exited: new(0), NoSession: true})
		id := w.identity(st, builder, "")
		id.Listed = false
		want(t, w.act(id), decision.Done, "ended when asked to", st.ID)
		want(t, w.settle(id), decision.Done)
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

// TestSparesWhatMayBeSomebodys lists what makes a shellper that no Tower lists one that is left, by what its command line says.
func TestSparesWhatMayBeSomebodys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	socket := func(path string) map[string]any {
		conf := w.conf(nil)
		conf["socketPath"] = path
		return conf
	}
	for _, c := range []struct {
		name, says string
		conf       map[string]any
	}{
		{"another Codev's", "another Codev's", socket("/somewhere/run/shellper-x.sock")},
		{"one of a folder whose name begins the same", "another Codev's", socket(w.SocketDir() + "2/shellper-x.sock")},
		{"one of a folder below", "another Codev's", socket(w.SocketDir() + "/b/shellper-x.sock")},
		{"one whose folder ends the same", "another Codev's", socket("/srv" + w.SocketDir() + "/shellper-x.sock")},
		{"one that listens nowhere", "another Codev's", map[string]any{"env": map[string]string{"S": w.SocketDir() + "/shellper-x.sock"}}},
		{"one that listens at two places", "another Codev's", map[string]any{"a": w.SocketDir() + "/x.sock", "b": "/srv/x.sock"}},
		{"another state folder's", "another state folder", w.conf(map[string]string{"CODEV_AGENT_FARM_DIR": "/home/dev/.agent-farm"})},
		{"another state folder's, relative", "another state folder", w.conf(map[string]string{"CODEV_AGENT_FARM_DIR": "home"})},
		{"an architect's", "started for an architect", w.conf(map[string]string{"CODEV_ARCHITECT_NAME": "main"})},
	} {
		f := newFake(t, c.conf)
		want(t, w.act(w.unknown(f.pid)), decision.Refused, c.says, "left untouched")
		if !f.alive() {
			t.Errorf("%s was ended", c.name)
		}
	}
	for _, argv := range [][]string{{"node", "/usr/lib/codev/shellper-main.js", "{"}, {"node", "/srv/server.js", `{"p":"shellper-main.js"}`},
		{"node", "/srv/shellper-main.js.bak", "{}"}, {"node", "shellper-main.js"},
		{"node", "shellper-main.js", `{"socketPath":"` + w.SocketDir() + `/x.sock"}`, "{"}} {
		f := startFake(t, argv...)
		want(t, w.act(w.unknown(f.pid)), decision.Refused, "left untouched")
		if !f.alive() {
			t.Errorf("%v was ended", argv)
		}
	}
	f := newFake(t, w.conf(nil))
	w.env = map[string]string{}
	want(t, w.act(w.unknown(f.pid)), decision.Refused, "set SHELLPER_SOCKET_DIR", "left untouched")
	if !f.alive() {
		t.Error("it was ended")
	}
}

// TestSparesWhatIsUsed has something live below a shellper, before the look, right before the signal, and between the two signals.
func TestSparesWhatIsUsed(t *testing.T) {
	t.Parallel()
	for order, says := range map[string]string{
		"child":       "lives below pid",
		"own session": "lives below pid",
		"background":  "in the session or process group",
		"terminal":    "uses the terminal",
	} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			f := newFake(t, w.conf(nil))
			id := w.unknown(f.pid)
			g := w.held(id)
			f.child(order)
			want(t, w.do(context.Background(), g, id), decision.Refused, says, "left untouched")
			want(t, w.act(id), decision.Refused, says, "left untouched")
			late := newFake(t, w.conf(nil))
			w.o.Step = func(step string) {
				if step == StepTerm {
					late.child(order)
				}
			}
			want(t, w.act(w.unknown(late.pid)), decision.Refused, says, "left untouched")
			if !f.alive() || !late.alive() {
				t.Error("it was ended")
			}
		})
	}
	t.Run("after it was asked to end", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).short()
		f := newFake(t, w.conf(nil))
		if got := f.order("breed"); got != "ok" {
			t.Fatal(got)
		}
		id := w.unknown(f.pid)
		want(t, w.act(id), decision.Refused, "lives below pid", "was not killed", "next sweep")
		if !f.alive() {
			t.Error("it was killed")
		}
		want(t, w.settle(id), decision.Failed, "still runs", "may have been asked to end")
	})
}

// TestKnownAfterAll has the Tower list what nobody knew, by its id or by its pid.
func TestKnownAfterAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	st, husk := w.builder(tower.Terminal{}), w.Husk(w.ws)
	id := w.identity(husk, shellper, "")
	g := w.held(id)
	w.SetPID(st.ID, husk.PID)
	want(t, w.do(context.Background(), g, id), decision.Changed, "the Tower lists it now", "left untouched")
	want(t, w.act(id), decision.Changed, "the Tower lists it now", "left untouched")
	want(t, w.settle(id), decision.Failed, "the Tower lists it")
	lost := w.identity(husk, builder, "")
	lost.ID, lost.Listed = st.ID, false
	w.SetPID(st.ID, st.PID)
	want(t, w.act(lost), decision.Changed, "the Tower lists it now", "left untouched")
	w.untouched(st)
	w.untouched(husk)
}

func TestEndInterrupted(t *testing.T) {
	t.Parallel()
	pressed := errors.New("somebody pressed a key")
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
func outlive(w *world, st tower.TerminalState) {
	w.answered(http.MethodDelete, tower.DeleteDoesNothing)
	w.After(func(_ int, c tower.Call) {
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
		st := w.builder(tower.Terminal{Dev: true})
		id := w.identity(st, dev, running)
		outlive(w, st)
		out := w.act(id)
		want(t, out, decision.Done, "lists it no more, but its process", "still ran", "ended when asked to")
		if out.Freed.RSS != rss || w.Registered(st.ID) {
			t.Errorf("outcome: %+v", out)
		}
		eventually(t, "it ends", func() bool { return !w.Alive(st.ID) })
	})
	t.Run("is killed where it does not listen", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).short()
		st := w.builder(tower.Terminal{Dev: true, Deaf: true})
		id := w.identity(st, dev, running)
		outlive(w, st)
		want(t, w.act(id), decision.Done, "still ran", "was killed")
		eventually(t, "it ends", func() bool { return !w.Alive(st.ID) })
	})
	t.Run("is left after an interruption", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).short()
		st := w.builder(tower.Terminal{Dev: true})
		id := w.identity(st, dev, running)
		outlive(w, st)
		ctx, cancel := context.WithCancelCause(t.Context())
		w.o.Step = func(step string) {
			if step == StepReadBack {
				cancel(errors.New("somebody pressed a key"))
			}
		}
		want(t, w.do(ctx, w.held(id), id), decision.Failed, "still ran", "somebody pressed a key", "next sweep")
		if !w.Alive(st.ID) {
			t.Error("it was ended")
		}
		want(t, w.settle(id), decision.Failed, "the Tower does not list it", "still runs")
	})
	t.Run("is left where it may be another Codev's", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).short()
		w.env["SHELLPER_SOCKET_DIR"] = filepath.Join(w.SocketDir(), "else")
		st := w.builder(tower.Terminal{Dev: true})
		id := w.identity(st, dev, running)
		outlive(w, st)
		want(t, w.act(id), decision.Failed, "still ran", "another Codev's", "next sweep")
		if !w.Alive(st.ID) {
			t.Error("it was ended")
		}
	})
	t.Run("may end by itself", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).short()
		st := w.builder(tower.Terminal{Dev: true})
		id := w.identity(st, dev, running)
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
		step, kind string
		settled    string
		says       string
	}{
		{StepClose, builder, decision.Failed, "interrupted before it was closed"},
		{StepReadBack, builder, decision.Done, "settled after an interruption"},
		{StepTerm, shellper, decision.Failed, "interrupted before its process was ended"},
		{StepKill, shellper, decision.Failed, "may have been asked to end"},
		{StepTerm, dev, decision.Failed, "the Tower does not list it; its process"},
	} {
		t.Run(strings.Join([]string{c.step, c.kind}, " of a "), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).short()
			var st tower.TerminalState
			var id decision.Terminal
			switch c.kind {
			case shellper:
				st = w.builder(tower.Terminal{NoRow: true, NoSession: true, Deaf: true, Exited: new(0)})
				id = w.identity(st, shellper, "")
			case dev:
				st = w.builder(tower.Terminal{Dev: true})
				id = w.identity(st, dev, running)
				outlive(w, st)
			default:
				st = w.builder(tower.Terminal{})
				id = w.identity(st, builder, running)
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
			case c.kind == dev: // what lives below it is not judged by this act
				w.Exit(st.ID, 0)
				id = w.unknown(st.PID)
				want(t, w.act(id), decision.Done, "ended when asked to")
			case c.kind == builder:
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
	id := w.identity(st, shellper, "")
	id.Process.BootID = "another"
	out := w.settle(id)
	want(t, out, decision.Gone, "before this boot")
	if out.Freed.RSS != 0 {
		t.Errorf("outcome: %+v", out)
	}
	w.untouched(st)
}

func FuzzParseStat(f *testing.F) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("12 (a) Z 1 (b) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 99 1 2"))
	f.Add([]byte("12 (a) S 7 8 9"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := panes.ParseStat(text)
		if err != nil && s != (panes.Stat{}) {
			t.Errorf("%+v beside %v", s, err)
		}
	})
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	rest := panes.Stat{Parent: 7, Group: 8, Session: 9, Foreground: -1, Start: 99, RSS: 2 * int64(os.Getpagesize())}
	live, zombie := rest, rest
	live.Comm, live.State, live.Threads = "a) Z 1 (b", 'S', 3
	zombie.Comm, zombie.State, zombie.Threads = "\n", 'Z', 1
	for text, want := range map[string]panes.Stat{
		"12 (a) Z 1 (b) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 99 1 2": live,
		"12 (\n) Z 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 99 1 2":        zombie,
	} {
		if got, err := panes.ParseStat([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "12", "12 (a", "12 (a) S 7 8", "12 (a) SS 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 99 1 2",
		"12 (a) S x 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 99 1 2"} {
		if _, err := panes.ParseStat([]byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestTTYIndex(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"pos:\t0\nflags:\t02\ntty-index:\t12\n": "12", "tty-index:\t0": "0"} {
		if got, err := ttyIndex([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "pos:\t0\n", "tty-index:\tx\n", "tty-index:\n", "tty-index:\t-1\n"} {
		if _, err := ttyIndex([]byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
