package codev

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"winnow/engine/decision"
	"winnow/testkit/tower"
)

func TestCloses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		spec         tower.Terminal
		kind, status string
		process      bool
	}{
		{"one of a builder", tower.Terminal{}, builder, running, true},
		{"one whose shellper does not listen", tower.Terminal{Deaf: true}, builder, running, true},
		{"one whose agent has ended", tower.Terminal{Exited: new(0)}, builder, exited, true},
		{"one whose shellper has ended too", tower.Terminal{}, builder, exited, false},
		{"a development server", tower.Terminal{Dev: true}, dev, running, true},
		{"one of an orphan", tower.Terminal{Orphan: true}, builder, running, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			other := w.Terminal(w.ws, tower.Terminal{Type: "shell"})
			st := w.builder(c.spec)
			id := w.identity(st, c.kind, c.status)
			freed := int64(rss)
			if !c.process {
				w.ended(st)
				id.Process, freed = nil, 0
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

// TestAsksNothingElse holds that the Tower hears of two things only, and always with its key.
func TestAsksNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	st := w.builder(tower.Terminal{})
	w.expect(st.ID)
	want(t, w.act(w.identity(st, builder, running)), decision.Done)
	husk := w.Husk(w.ws)
	want(t, w.act(w.identity(husk, shellper, "")), decision.Done)
	for _, c := range w.Calls() {
		if !c.Key || c.Method+" "+c.Path != "GET /api/terminals" && c.Method+" "+c.Path != "DELETE /api/terminals/"+st.ID {
			t.Errorf("%+v", c)
		}
	}
	if len(w.Mutations()) != 1 {
		t.Errorf("told %v", w.Mutations())
	}
}

// TestTowerThatFails has the Tower fail at the call that closes. What the world shows decides, not what it answers.
func TestTowerThatFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		fault   tower.Fault
		outcome string
		gone    bool
		says    []string
		waits   bool
	}{
		{"its answer is lost", tower.LostReply, decision.Done, true, []string{"is closed", "no answer of it came through"}, false},
		{"it hangs once it is done", tower.HangBeforeReply, decision.Done, true, []string{"is closed"}, true},
		{"it takes its time", tower.SlowDelete(100 * time.Millisecond), decision.Done, true, []string{"is closed"}, false},
		{"it takes longer than we wait", tower.SlowDelete(1100 * time.Millisecond), decision.Done, true, []string{"is closed"}, true},
		{"what it answers is no answer", tower.Garbage, decision.Done, true, []string{"is closed", "answered 200"}, false},
		{"it closes the connection", tower.CloseWithoutReply, decision.Failed, false, []string{"still lists it", "still runs", "closed the connection", "next sweep"}, true},
		{"it hangs", tower.Hang, decision.Failed, false, []string{"still lists it", "still runs", "within"}, true},
		{"it says that it did and does nothing", tower.DeleteDoesNothing, decision.Failed, false,
			[]string{"the Tower said that it closed it, and it still lists it", "still runs", "the next sweep tries again"}, true},
		{"it removes the row alone", tower.DeleteKillsOnlyRow, decision.Failed, false, []string{"the Tower said that it closed it, and it still lists it"}, true},
		{"it keeps the row", tower.DeleteKeepsRow, decision.Done, false, []string{"is closed"}, false},
		{"it says that it does not know it", tower.Status(404, words("NOT_FOUND")), decision.Failed, false, []string{"does not know it, and it still lists it"}, true},
		{"it has no such page", tower.Status(404, "Not found"), decision.Failed, false, []string{"answered 404"}, false},
		{"it fails", tower.Status(500, words("INTERNAL")), decision.Failed, false, []string{"answered 500", "still lists it"}, false},
		{"it is overloaded", tower.Status(503, words("BUSY")), decision.Failed, false, []string{"answered 503"}, false},
		{"it points elsewhere", tower.Status(302, ""), decision.Failed, false, []string{"answered 302"}, false},
		{"it wants another key by now", tower.Status(401, "Unauthorized"), decision.Failed, false,
			[]string{"the key is not this Tower's; ", "CODEV_TOWER_KEY", "left untouched"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			long := w.o
			if c.waits {
				w.short()
			}
			st := w.builder(tower.Terminal{})
			id := w.identity(st, builder, running)
			w.answered(http.MethodDelete, c.fault)
			w.expect(st.ID)
			out := w.act(id)
			want(t, out, c.outcome, append(c.says, st.ID)...)
			if out.Open || (out.Freed.RSS > 0) != !w.Alive(st.ID) {
				t.Errorf("outcome %+v, alive %v", out, w.Alive(st.ID))
			}
			if c.gone { // the row is the last to go
				eventually(t, "nothing is left of it", func() bool { return w.Gone(st.ID) })
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
			want(t, w.act(id), decision.Done, "is closed")
		})
	}
}

// TestTowerThatEndsTheProcessOnly has the Tower go on listing what it closed.
func TestTowerThatEndsTheProcessOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t).short()
	st := w.builder(tower.Terminal{})
	id := w.identity(st, builder, running)
	w.answered(http.MethodGet, w.listing(with("status", running)))
	w.expect(st.ID)
	out := w.act(id)
	want(t, out, decision.Failed, "the Tower said that it closed it, and it still lists it", "has ended", "the next sweep tries again")
	if out.Open || out.Freed.RSS != rss {
		t.Errorf("outcome: %+v", out)
	}
}

// TestTowerThatCannotBeAsked has every question fail, before the act and between the two.
func TestTowerThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault tower.Fault
		says  string
	}{
		{"it hangs", tower.Hang, "within 500ms"},
		{"it closes the connection", tower.CloseWithoutReply, "closed the connection"},
		{"what it says is no JSON", tower.Garbage, "its list of terminals is none"},
		{"half of it comes", tower.Partial, "closed the connection"},
		{"it does not end", tower.Status(200, `{"terminals":[]`+strings.Repeat(" ", maxList)+"}"), "longer than"},
		{"it has no list", tower.Status(200, `{}`), "its list of terminals is none"},
		{"its list is nothing", tower.Status(200, `{"terminals":null}`), "its list of terminals is none"},
		{"its list is something else", tower.Status(200, `{"terminals":[3]}`), "its list of terminals is none"},
		{"it fails", tower.Status(500, ""), "answered 500"},
		{"it points elsewhere", tower.Status(307, ""), "answered 307"},
		{"the key is another", tower.Status(401, "Unauthorized"), "the key is not this Tower's"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if c.name == "it hangs" {
				w.short()
			}
			st, husk := w.builder(tower.Terminal{}), w.Husk(w.ws)
			for _, id := range []decision.Terminal{w.identity(st, builder, running), w.identity(husk, shellper, "")} {
				w.Fault(nil)
				g := w.held(id)
				w.answered(http.MethodGet, c.fault)
				want(t, w.do(context.Background(), g, id), decision.Failed, c.says, "left untouched", "the next sweep tries again")
				want(t, w.act(id), decision.Failed, c.says, "left untouched", "the next sweep tries again")
				if out := w.settle(id); out.Outcome != decision.Failed || !out.Open {
					t.Errorf("settled: %+v", out)
				}
			}
			w.untouched(st)
			w.untouched(husk)
		})
	}
}

// TestTowerLostAfterwards has the Tower go once it was told.
func TestTowerLostAfterwards(t *testing.T) {
	t.Parallel()
	w := newWorld(t).short()
	st, second := w.builder(tower.Terminal{}), w.builder(tower.Terminal{RoleID: "builder-pir-884"})
	id, next := w.identity(st, builder, running), w.identity(second, builder, running)
	w.expect(st.ID)
	w.expect(second.ID)
	g, h := w.held(id), w.held(next)
	var dead atomic.Bool
	w.Fault(func(_ int, c tower.Call) tower.Fault {
		if c.Method == http.MethodDelete {
			dead.Store(true)
			return tower.DeleteDoesNothing
		}
		if dead.Load() {
			return tower.Hang
		}
		return tower.Fault{}
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
	w.Fault(func(_ int, c tower.Call) tower.Fault {
		if c.Method == http.MethodDelete {
			dead.Store(true)
		} else if dead.Load() {
			return tower.Hang
		}
		return tower.Fault{}
	})
	out = w.do(context.Background(), h, next)
	want(t, out, decision.Failed, "whether it still lists it is not known", "has ended")
	if out.Open || out.Freed.RSS != rss {
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
		w.Fault(func(_ int, c tower.Call) tower.Fault {
			if c.Method != method {
				return tower.Fault{}
			}
			if n.Add(1) <= times {
				return tower.Status(503, words("STARTING_UP"))
			}
			return tower.Fault{}
		})
		return n.Load
	}
	t.Run("is told again", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		st := w.builder(tower.Terminal{})
		id := w.identity(st, builder, running)
		for range 3 {
			w.expect(st.ID)
		}
		asked := starting(w, http.MethodDelete, 2)
		want(t, w.act(id), decision.Done, "is closed")
		if asked() != 3 || !w.Gone(st.ID) {
			t.Errorf("told %d times, gone %v", asked(), w.Gone(st.ID))
		}
	})
	t.Run("is asked again, when it says", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		st := w.builder(tower.Terminal{})
		id := w.identity(st, builder, running)
		g := w.held(id)
		w.SetReady(false)
		w.After(func(_ int, c tower.Call) { w.SetReady(true) })
		w.expect(st.ID)
		want(t, w.do(context.Background(), g, id), decision.Done, "is closed")
		calls := w.Calls()
		if first, second := calls[1].At, calls[2].At; second.Sub(first) < time.Second {
			t.Errorf("asked again after %s, and it said a second", second.Sub(first))
		}
	})
	t.Run("and never ends to is left", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		st := w.builder(tower.Terminal{})
		id := w.identity(st, builder, running)
		for range tries {
			w.expect(st.ID)
		}
		asked := starting(w, http.MethodDelete, 1000)
		want(t, w.act(id), decision.Failed, "tell the Tower at", "still starting", "try 4 of 4", "left untouched", "next sweep")
		if asked() != tries || !w.Alive(st.ID) || !w.Registered(st.ID) {
			t.Errorf("told %d times, alive %v", asked(), w.Alive(st.ID))
		}
	})
	t.Run("longer than there is time for is left", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).short()
		st := w.builder(tower.Terminal{})
		id := w.identity(st, builder, running)
		g := w.held(id)
		w.SetReady(false)
		want(t, w.do(context.Background(), g, id), decision.Failed, "still starting", "try 1 of 4", "left untouched")
		w.untouched(st)
	})
	t.Run("does not keep an interruption waiting", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.o.Timeout = time.Hour
		st := w.builder(tower.Terminal{})
		id := w.identity(st, builder, running)
		g := w.held(id)
		w.answered(http.MethodGet, tower.Status(503, words("STARTING_UP")))
		ctx, cancel := context.WithCancelCause(t.Context())
		w.After(func(int, tower.Call) { cancel(errors.New("somebody pressed a key")) })
		want(t, w.do(ctx, g, id), decision.Failed, "somebody pressed a key", "left untouched")
		w.untouched(st)
	})
}

// TestInterrupted holds that nothing is begun after an interruption, and that what was begun is brought to an end.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	st := w.builder(tower.Terminal{})
	id := w.identity(st, builder, running)
	ctx, cancel := context.WithCancelCause(t.Context())
	g := w.held(id)
	w.expect(st.ID)
	w.After(func(_ int, c tower.Call) {
		if c.Method == http.MethodDelete {
			cancel(errors.New("somebody pressed a key"))
		}
	})
	out := w.do(ctx, g, id)
	want(t, out, decision.Done, "is closed")
	if !w.Gone(st.ID) || strings.Contains(out.Detail, "no answer") {
		t.Errorf("outcome: %+v", out)
	}
	second := w.builder(tower.Terminal{})
	id = w.identity(second, builder, running)
	want(t, w.do(ctx, w.held(id), id), decision.Failed, "somebody pressed a key", "left untouched")
	// And right before the Tower is told, once everything was looked at.
	ctx, cancel = context.WithCancelCause(t.Context())
	g = w.held(id)
	g.(*grasp).tower.http.Transport = answered{g.(*grasp).tower.http.Transport, func() { cancel(errors.New("somebody pressed a key")) }}
	want(t, w.do(ctx, g, id), decision.Failed, "somebody pressed a key", "left untouched")
	if !w.Alive(second.ID) || len(w.Mutations()) != 1 {
		t.Errorf("told %v", w.Mutations())
	}
}

// answered has something happen between an answer of the Tower's, which is whole, and what comes of it.
type answered struct {
	http.RoundTripper
	then func()
}

func (a answered) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := a.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	a.then()
	return resp, err
}

// TestClosedBySomebodyElse has another client close the terminal right before.
func TestClosedBySomebodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	st := w.builder(tower.Terminal{})
	id := w.identity(st, builder, running)
	g := w.held(id)
	w.expect(st.ID)
	w.expect(st.ID)
	var closed atomic.Bool
	w.Before(func(_ int, c tower.Call) {
		if c.Method != http.MethodDelete || !closed.CompareAndSwap(false, true) {
			return
		}
		if err := g.(*grasp).tower.close(context.Background(), st.ID); err != nil {
			t.Error(err)
		}
	})
	out := w.do(context.Background(), g, id)
	want(t, out, decision.Gone, "was gone when the Tower was told to close it")
	if out.Freed.RSS != 0 || !w.Gone(st.ID) {
		t.Errorf("outcome: %+v", out)
	}
}

// TestHangingTowerIsBounded holds that a Tower that hangs at every call, as one that takes connections and does nothing, holds no act
// for longer than the documented times together.
func TestHangingTowerIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t).short()
	st := w.builder(tower.Terminal{})
	id := w.identity(st, builder, running)
	w.expect(st.ID)
	for from := range 3 {
		w.Fault(nil)
		g := w.held(id)
		var n atomic.Int64
		w.Fault(func(int, tower.Call) tower.Fault {
			if n.Add(1) > int64(from) {
				return tower.Hang
			}
			return tower.DeleteDoesNothing
		})
		over := make(chan decision.Outcome)
		go func() { over <- g.Act(t.Context(), intent(id)) }()
		select {
		case out := <-over:
			want(t, out, decision.Failed)
		case <-time.After(20 * w.o.Timeout):
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
	st, over := w.builder(tower.Terminal{}), w.builder(tower.Terminal{RoleID: "builder-task-1", Exited: new(0)})
	server := w.builder(tower.Terminal{Dev: true})
	id, gone, lost := w.identity(st, builder, running), w.identity(over, builder, exited), w.identity(server, dev, running)
	g, h, l := w.held(id), w.held(gone), w.held(lost)
	w.Restart()
	w.expect(st.ID)
	want(t, w.do(context.Background(), g, id), decision.Done, "is closed")
	want(t, w.do(context.Background(), h, gone), decision.Gone)
	out := w.do(context.Background(), l, lost)
	want(t, out, decision.Changed, "does not list it any more", "still runs", "left untouched")
	if !w.Gone(st.ID) || !w.Alive(server.ID) {
		t.Errorf("gone %v, the server alive %v", w.Gone(st.ID), w.Alive(server.ID))
	}
}

func TestTowerDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	st, husk := w.builder(tower.Terminal{}), w.Husk(w.ws)
	id, unknown := w.identity(st, builder, running), w.identity(husk, shellper, "")
	g, h := w.held(id), w.held(unknown)
	w.Down()
	for _, out := range []decision.Outcome{w.do(context.Background(), g, id), w.do(context.Background(), h, unknown), w.act(id), w.act(unknown)} {
		want(t, out, decision.Failed, "it cannot be reached", "refused", "left untouched", "the next sweep tries again")
	}
	if out := w.settle(id); out.Outcome != decision.Failed || !out.Open {
		t.Errorf("settled: %+v", out)
	}
	w.untouched(st)
	w.untouched(husk)
	// It goes right after it was asked: then it was told nothing.
	w.Up()
	g = w.held(id)
	g.(*grasp).tower.http.Transport = goes{w, g.(*grasp).tower.http.Transport}
	want(t, w.do(context.Background(), g, id), decision.Failed, "tell the Tower", "it cannot be reached", "refused", "left untouched")
	if !w.Alive(st.ID) || len(w.Mutations()) != 0 {
		t.Errorf("told %v", w.Mutations())
	}
}

// goes is the way to a Tower that goes right before it is told anything.
type goes struct {
	w *world
	http.RoundTripper
}

func (g goes) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodDelete {
		g.w.Down()
	}
	return g.RoundTripper.RoundTrip(r)
}

// TestForeignTowerIsLeft has two Codevs on one machine, and holds that one's terminals are never the other's.
func TestForeignTowerIsLeft(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	st, husk := other.builder(tower.Terminal{}), other.Husk(other.ws)
	id, unknown := w.identity(st, builder, running), w.identity(husk, shellper, "")
	want(t, w.act(id), decision.Changed, "does not list it any more")
	want(t, w.act(unknown), decision.Refused, "another Codev's", "left untouched")
	id.Tower = other.URL()
	want(t, w.act(id), decision.Failed, "the key is not this Tower's")
	other.untouched(st)
	other.untouched(husk)
	if slices.ContainsFunc(other.Calls(), func(c tower.Call) bool { return c.Key }) {
		t.Error("the other Tower was sent its key")
	}
}
