package codev

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/tower/act"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	kit "github.com/winnow-reaper/winnow/test/kit/tower"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func TestCloses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		spec    kit.Terminal
		process bool
	}{
		{"one of a builder", kit.Terminal{}, true},
		{"one whose shellper does not listen", kit.Terminal{Deaf: true}, true},
		{"one whose agent has ended", kit.Terminal{Exited: new(0)}, true},
		{"one whose shellper has ended too", kit.Terminal{}, false},
		{"a development server", kit.Terminal{Dev: true}, true},
		{"one of an orphan", kit.Terminal{Orphan: true}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			other := w.Terminal(w.ws, kit.Terminal{Type: "shell"})
			st := w.builder(c.spec)
			if !c.process {
				w.ended(st)
			}
			id := w.identity(st)
			freed := rss(id)
			if (id.Process != nil) != c.process {
				t.Fatalf("identity: %+v", id)
			}
			w.expect(st.ID)
			out := w.act(id)
			want(t, out, decision.Done, "is closed", st.ID, "builder-pir-883")
			if out.Freed.RSS != freed || out.Open {
				t.Errorf("outcome: %+v", out)
			}
			if !w.Gone(st.ID) || !w.Registered(other.ID) || !w.Alive(other.ID) {
				t.Errorf("gone %v, the other one listed %v, alive %v", w.Gone(st.ID), w.Registered(other.ID), w.Alive(other.ID))
			}
			want(t, w.settle(id), decision.Done, "gone")
		})
	}
}

// TestAsksNothingElse holds that the Tower gets one request to change things, and that it is asked with its key.
func TestAsksNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	st := w.builder(kit.Terminal{})
	w.expect(st.ID)
	want(t, w.act(w.identity(st)), decision.Done)
	husk := w.Husk(w.ws)
	want(t, w.act(w.identity(husk)), decision.Done)
	for _, c := range w.Calls() {
		if c.Path != "/api/version" && !c.Key || c.Method != http.MethodGet && c.Method+" "+c.Path != "DELETE /api/terminals/"+st.ID {
			t.Errorf("%+v", c)
		}
	}
	if len(w.Mutations()) != 1 {
		t.Errorf("the Tower was asked to do %v", w.Mutations())
	}
}

// TestTowerThatFails has the Tower fail at the call that closes. What the world shows decides, not what it answers.
func TestTowerThatFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		fault   kit.Fault
		outcome string
		gone    bool
		says    []string
		waits   bool
	}{
		{"its answer is lost", kit.LostReply, decision.Done, true, []string{"is closed", "no answer of it came through"}, false},
		{"it hangs once it is done", kit.HangBeforeReply, decision.Done, true, []string{"is closed"}, true},
		{"it takes its time", kit.SlowDelete(100 * time.Millisecond), decision.Done, true, []string{"is closed"}, false},
		{"it takes longer than we wait", kit.SlowDelete(11 * time.Second), decision.Done, true, []string{"is closed"}, true},
		{"what it answers is no answer", kit.Garbage, decision.Done, true, []string{"is closed", "answers 200"}, false},
		{"it closes the connection", kit.CloseWithoutReply, decision.Failed, false, []string{"still lists it", "still runs", "hung up", "next sweep"}, true},
		{"it hangs", kit.Hang, decision.Failed, false, []string{"still lists it", "still runs", "in time"}, true},
		{"it says that it did and does nothing", kit.DeleteDoesNothing, decision.Failed, false,
			[]string{"the Tower said that it closed it, and it still lists it", "still runs", "the next sweep tries again"}, true},
		{"it removes the row alone", kit.DeleteKillsOnlyRow, decision.Failed, false, []string{"the Tower said that it closed it, and it still lists it"}, true},
		{"it keeps the row", kit.DeleteKeepsRow, decision.Done, false, []string{"is closed"}, false},
		{"it says that it does not know it", kit.Status(404, words("NOT_FOUND")), decision.Failed, false, []string{"does not know it, and it still lists it"}, true},
		{"it has no such page", kit.Status(404, "Not found"), decision.Failed, false, []string{"answers 404"}, false},
		{"it fails", kit.Status(500, words("INTERNAL")), decision.Failed, false, []string{"answers 500", "still lists it"}, false},
		{"it is overloaded", kit.Status(503, words("BUSY")), decision.Failed, false, []string{"answers 503"}, false},
		{"it points elsewhere", kit.Status(302, ""), decision.Failed, false, []string{"answers 302"}, false},
		{"it wants another key by now", kit.Status(401, "Unauthorized"), decision.Failed, false,
			[]string{"it refuses the key", "CODEV_TOWER_KEY", "left untouched"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			long := w.o
			if c.waits {
				w.short()
			}
			st := w.builder(kit.Terminal{})
			id := w.identity(st)
			w.answered(http.MethodDelete, c.fault)
			w.expect(st.ID)
			out := w.act(id)
			want(t, out, c.outcome, append(c.says, st.ID)...)
			if out.Open || (out.Freed.RSS > 0) != !w.Alive(st.ID) {
				t.Errorf("outcome %+v, alive %v", out, w.Alive(st.ID))
			}
			if c.gone { // the row is the last to go
				wait.Eventually(t, "nothing is left of it", func() bool { return w.Gone(st.ID) })
			} else if w.Gone(st.ID) {
				t.Error("nothing is left of it")
			}
			if c.outcome != decision.Failed {
				return
			}
			// What failed is tried again, and goes through.
			w.o = long
			want(t, w.settle(id), decision.Failed, "interrupted before it was closed", "still runs")
			w.Fault(nil)
			w.expect(st.ID)
			want(t, w.direct(id), decision.Done, "is closed")
		})
	}
}

// TestTowerThatEndsTheProcessOnly has the Tower go on listing what it closed.
func TestTowerThatEndsTheProcessOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t).short()
	st := w.builder(kit.Terminal{})
	id := w.identity(st)
	w.answered(http.MethodGet, w.listing(with("status", "running")))
	w.expect(st.ID)
	out := w.act(id)
	want(t, out, decision.Failed, "the Tower said that it closed it, and it still lists it", "has ended", "the next sweep tries again")
	if out.Open || out.Freed.RSS != rss(id) {
		t.Errorf("outcome: %+v", out)
	}
}

// TestTowerThatCannotBeAsked has every question fail, before the act and between the two.
func TestTowerThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault kit.Fault
		says  string
	}{
		{"it hangs", kit.Hang, "did not answer in time"},
		{"it closes the connection", kit.CloseWithoutReply, "hung up"},
		{"what it says is no JSON", kit.Garbage, "winnow does not know this answer"},
		{"half of it comes", kit.Partial, "hung up"},
		{"it does not end", kit.Status(200, `{"terminals":[]`+strings.Repeat(" ", 4<<20)+"}"), "longer than"},
		{"it has no list", kit.Status(200, `{}`), "winnow does not know this answer"},
		{"its list is nothing", kit.Status(200, `{"terminals":null}`), "winnow does not know this answer"},
		{"its list is something else", kit.Status(200, `{"terminals":[3]}`), "winnow does not know this answer"},
		{"it fails", kit.Status(500, ""), "answers 500"},
		{"it points elsewhere", kit.Status(307, ""), "answers 307"},
		{"the key is another", kit.Status(401, "Unauthorized"), "it refuses the key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if c.name == "it hangs" {
				stage.NeedSecond(t, "each of its six questions waits for five seconds")
				w.short()
			}
			st, husk := w.builder(kit.Terminal{}), w.Husk(w.ws)
			for _, id := range []decision.Terminal{w.identity(st), w.identity(husk)} {
				w.Fault(nil)
				g := w.held(id)
				w.answered(http.MethodGet, c.fault)
				want(t, w.do(context.Background(), g, id), decision.Failed, c.says, "left untouched", "the next sweep tries again")
				want(t, w.direct(id), decision.Failed, c.says, "left untouched", "the next sweep tries again")
				if out := w.settle(id); out.Outcome != decision.Failed || !out.Open {
					t.Errorf("settled: %+v", out)
				}
			}
			w.untouched(st)
			w.untouched(husk)
		})
	}
}

// TestTowerLostAfterwards ends the Tower after it got the request.
func TestTowerLostAfterwards(t *testing.T) {
	stage.NeedSecond(t, "it waits for servers and files that never answer")
	t.Parallel()
	w := newWorld(t).short()
	st, second := w.builder(kit.Terminal{}), w.builder(kit.Terminal{RoleID: "builder-pir-884"})
	id, next := w.identity(st), w.identity(second)
	w.expect(st.ID)
	w.expect(second.ID)
	g, h := w.held(id), w.held(next)
	var dead atomic.Bool
	w.Fault(func(_ int, c kit.Call) kit.Fault {
		if c.Method == http.MethodDelete {
			dead.Store(true)
			return kit.DeleteDoesNothing
		}
		if dead.Load() {
			return kit.Hang
		}
		return kit.Fault{}
	})
	out := w.do(context.Background(), g, id)
	want(t, out, decision.Failed, "whether it still lists it is not known", "still runs", "the next sweep looks again")
	if !out.Open || out.Freed.RSS != 0 || !w.Alive(st.ID) {
		t.Errorf("outcome: %+v", out)
	}
	if out := w.settle(id); out.Outcome != decision.Failed || !out.Open {
		t.Errorf("settled: %+v", out)
	}
	// Once the process has ended there is nothing left to be found out.
	dead.Store(false)
	w.Fault(func(_ int, c kit.Call) kit.Fault {
		if c.Method == http.MethodDelete {
			dead.Store(true)
		} else if dead.Load() {
			return kit.Hang
		}
		return kit.Fault{}
	})
	out = w.do(context.Background(), h, next)
	want(t, out, decision.Failed, "whether it still lists it is not known", "has ended")
	if out.Open || out.Freed.RSS != rss(next) {
		t.Errorf("outcome: %+v", out)
	}
	out = w.settle(next)
	want(t, out, decision.Failed, "whether the Tower lists it is not known", "has ended")
	if out.Open {
		t.Errorf("settled: %+v", out)
	}
	w.Fault(nil)
	want(t, w.settle(next), decision.Done, "gone")
}

func TestTowerThatStarts(t *testing.T) {
	t.Parallel()
	starting := func(w *world, method string, times int64) func() int64 {
		var n atomic.Int64
		w.Fault(func(_ int, c kit.Call) kit.Fault {
			if c.Method != method {
				return kit.Fault{}
			}
			if n.Add(1) <= times {
				return kit.Status(503, words("STARTING_UP"))
			}
			return kit.Fault{}
		})
		return n.Load
	}
	t.Run("is asked again to close it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		st := w.builder(kit.Terminal{})
		id := w.identity(st)
		for range 3 {
			w.expect(st.ID)
		}
		asked := starting(w, http.MethodDelete, 2)
		want(t, w.act(id), decision.Done, "is closed")
		if asked() != 3 || !w.Gone(st.ID) {
			t.Errorf("asked %d times, gone %v", asked(), w.Gone(st.ID))
		}
	})
	t.Run("is asked again, when it says", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		st := w.builder(kit.Terminal{})
		id := w.identity(st)
		g := w.held(id)
		before := len(w.Calls())
		w.SetReady(false)
		w.After(func(_ int, c kit.Call) { w.SetReady(true) })
		w.expect(st.ID)
		want(t, w.do(context.Background(), g, id), decision.Done, "is closed")
		calls := w.Calls()
		if first, second := calls[before].At, calls[before+1].At; second.Sub(first) < time.Second {
			t.Errorf("asked again after %s, and it said a second", second.Sub(first))
		}
	})
	t.Run("and never ends to is left", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		st := w.builder(kit.Terminal{})
		id := w.identity(st)
		for range tries {
			w.expect(st.ID)
		}
		asked := starting(w, http.MethodDelete, 1000)
		want(t, w.act(id), decision.Failed, "ask the Tower at", "starting up", "try 4 of 4", "left untouched", "next sweep")
		if asked() != tries || !w.Alive(st.ID) || !w.Registered(st.ID) {
			t.Errorf("asked %d times, alive %v", asked(), w.Alive(st.ID))
		}
	})
	t.Run("longer than there is time for is left", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.SetRetryAfter(3600)
		st := w.builder(kit.Terminal{})
		id := w.identity(st)
		g := w.held(id)
		w.SetReady(false)
		want(t, w.do(context.Background(), g, id), decision.Failed, "starting up", "try 1 of 4", "left untouched")
		w.untouched(st)
	})
	t.Run("does not keep an interruption waiting", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.o.Timeout = time.Hour
		st := w.builder(kit.Terminal{})
		id := w.identity(st)
		g := w.held(id)
		w.answered(http.MethodGet, kit.Status(503, words("STARTING_UP")))
		ctx, cancel := context.WithCancelCause(t.Context())
		w.After(func(int, kit.Call) { cancel(errors.New("a key was pressed")) })
		want(t, w.do(ctx, g, id), decision.Failed, "a key was pressed", "left untouched")
		w.untouched(st)
	})
}

// TestInterrupted holds that nothing is begun after an interruption, and that what was begun is brought to an end.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	st := w.builder(kit.Terminal{})
	id := w.identity(st)
	ctx, cancel := context.WithCancelCause(t.Context())
	g := w.held(id)
	w.expect(st.ID)
	w.After(func(_ int, c kit.Call) {
		if c.Method == http.MethodDelete {
			cancel(errors.New("a key was pressed"))
		}
	})
	out := w.do(ctx, g, id)
	want(t, out, decision.Done, "is closed")
	if !w.Gone(st.ID) || strings.Contains(out.Detail, "no answer") {
		t.Errorf("outcome: %+v", out)
	}
	second := w.builder(kit.Terminal{})
	id = w.identity(second)
	want(t, w.do(ctx, w.held(id), id), decision.Failed, "a key was pressed", "left untouched")
	// And right before the request to the Tower, after everything was looked at.
	ctx, cancel = context.WithCancelCause(t.Context())
	g = w.held(id)
	w.After(func(_ int, c kit.Call) {
		if c.Method == http.MethodGet {
			cancel(errors.New("a key was pressed"))
		}
	})
	want(t, w.do(ctx, g, id), decision.Failed, "a key was pressed", "left untouched")
	if !w.Alive(second.ID) || len(w.Mutations()) != 1 {
		t.Errorf("the Tower was asked to do %v", w.Mutations())
	}
}

// TestClosedByAnotherClient has another client close the terminal right before.
func TestClosedByAnotherClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	st := w.builder(kit.Terminal{})
	id := w.identity(st)
	g := w.held(id)
	w.expect(st.ID)
	w.expect(st.ID)
	var closed atomic.Bool
	w.Before(func(_ int, c kit.Call) {
		if c.Method != http.MethodDelete || !closed.CompareAndSwap(false, true) {
			return
		}
		if err := act.Close(context.Background(), g.(*handle).tower, st.ID); err != nil {
			t.Error(err)
		}
	})
	out := w.do(context.Background(), g, id)
	want(t, out, decision.Gone, "was gone when the Tower was asked to close it")
	if out.Freed.RSS != 0 || !w.Gone(st.ID) {
		t.Errorf("outcome: %+v", out)
	}
}

// TestHangingTowerIsBounded holds that a Tower that hangs at every call, as one that takes connections and does nothing, holds no act
// for longer than the documented times together.
func TestHangingTowerIsBounded(t *testing.T) {
	stage.NeedSecond(t, "it waits for servers and files that never answer")
	t.Parallel()
	w := newWorld(t).short()
	st := w.builder(kit.Terminal{})
	id := w.identity(st)
	w.expect(st.ID)
	for from := range 3 {
		w.Fault(nil)
		g := w.held(id)
		var n atomic.Int64
		w.Fault(func(int, kit.Call) kit.Fault {
			if n.Add(1) > int64(from) {
				return kit.Hang
			}
			return kit.DeleteDoesNothing
		})
		over := make(chan decision.Outcome)
		go func() { over <- g.Act(t.Context(), intent(id)) }()
		select {
		case out := <-over:
			want(t, out, decision.Failed)
		case <-time.After(wait.Patience):
			t.Fatalf("it hangs at call %d", from+1)
		}
		if from == 1 { // the one call that was announced has come
			w.expect(st.ID)
		}
	}
	if !w.Alive(st.ID) {
		t.Error("it was ended")
	}
}

// TestRestartInBetween has the Tower stop and start between the look and the act: it has the same ids, and forgets what had exited.
func TestRestartInBetween(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	st, over := w.builder(kit.Terminal{}), w.builder(kit.Terminal{RoleID: "builder-task-1", Exited: new(0)})
	server := w.builder(kit.Terminal{Dev: true})
	id, gone, lost := w.identity(st), w.identity(over), w.identity(server)
	g, h, l := w.held(id), w.held(gone), w.held(lost)
	w.Restart() // its label is another afterwards
	want(t, w.do(context.Background(), g, id), decision.Changed, "says now of it", "left untouched")
	want(t, w.do(context.Background(), h, gone), decision.Gone)
	out := w.do(context.Background(), l, lost)
	want(t, out, decision.Changed, "no longer lists it", "still runs", "left untouched")
	if !w.Alive(st.ID) || !w.Alive(server.ID) {
		t.Errorf("alive %v, the server %v", w.Alive(st.ID), w.Alive(server.ID))
	}
}

func TestTowerDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	st, husk := w.builder(kit.Terminal{}), w.Husk(w.ws)
	id, unknown := w.identity(st), w.identity(husk)
	g, h := w.held(id), w.held(unknown)
	w.Down()
	for _, out := range []decision.Outcome{w.do(context.Background(), g, id), w.do(context.Background(), h, unknown), w.direct(id), w.direct(unknown)} {
		want(t, out, decision.Failed, "it cannot be reached", "left untouched", "the next sweep tries again")
	}
	if out := w.settle(id); out.Outcome != decision.Failed || !out.Open {
		t.Errorf("settled: %+v", out)
	}
	w.untouched(st)
	w.untouched(husk)
}

// TestForeignTowerIsLeft has two Codevs on one machine, and holds that a terminal of the first is never taken for one of the second.
func TestForeignTowerIsLeft(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	mine, st, husk := w.builder(kit.Terminal{}), other.builder(kit.Terminal{}), other.Husk(other.ws)
	for _, native := range []string{st.ID, "pid-" + strconv.Itoa(husk.PID)} {
		if d, err := w.judged(t.Context(), native); err != nil || d.ID != "" {
			t.Errorf("%s: %+v, %v", native, d, err)
		}
	}
	id := w.identity(mine)
	id.ID = st.ID
	want(t, w.direct(id), decision.Changed, "no longer lists it", "left untouched")
	id.Tower = other.URL()
	want(t, w.direct(id), decision.Failed, "it refuses the key", "left untouched")
	other.untouched(st)
	other.untouched(husk)
	if !w.Alive(mine.ID) {
		t.Error("it was ended")
	}
}
