package actuators

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// stage plays the judge, the journal and an actuator, and writes down in which order it was asked.
type stage struct {
	calls []string
	// looks counts the looks, each at one or several things.
	looks int
	// what each of them answers, by candidate where it is a map
	holdErr, saveErr map[string]error
	again            map[string]func(*decision.Decision) error
	// last is what the last judgement changes, after the save
	last               func(*decision.Decision) error
	intendErr, settled error
	closeErr           error
	out                decision.Outcome
	onDo               func()
}

func (s *stage) note(what, id string) { s.calls = append(s.calls, what+" "+id) }

func (s *stage) Rejudge(_ context.Context, ds []decision.Decision) []Judgement {
	s.looks++
	out := make([]Judgement, len(ds))
	for i, d := range ds {
		out[i].Decision, out[i].Err = s.judge(d)
	}
	return out
}

func (s *stage) judge(d decision.Decision) (decision.Decision, error) {
	saved := slices.Contains(s.calls, "save "+d.ID)
	s.note("again", d.ID)
	if saved && s.last != nil {
		err := s.last(&d)
		return d, err
	}
	if change := s.again[d.ID]; change != nil {
		err := change(&d)
		return d, err
	}
	return d, nil
}

func (s *stage) Intend(_ context.Context, in decision.Intent) error {
	s.note("intend", in.Candidate)
	return s.intendErr
}

func (s *stage) Settled(ctx context.Context, id string, out decision.Outcome) error {
	s.note("settled", out.Outcome)
	return errors.Join(s.settled, ctx.Err())
}

func (s *stage) Hold(_ context.Context, _ string, d decision.Decision) (Held, error) {
	s.note("hold", d.ID)
	if err := s.holdErr[d.ID]; err != nil {
		return nil, err
	}
	return &held{s, d.ID}, nil
}

func (s *stage) Settle(context.Context, decision.Intent) decision.Outcome { return decision.Outcome{} }

type held struct {
	*stage
	id string
}

func (h *held) Plan() json.RawMessage      { return json.RawMessage(`{"plan":1}`) }
func (h *held) Close() error               { h.note("close", h.id); return h.closeErr }
func (h *held) Save(context.Context) error { h.note("save", h.id); return h.saveErr[h.id] }
func (h *held) Act(_ context.Context, in decision.Intent) decision.Outcome {
	h.note("act", h.id)
	if h.onDo != nil {
		h.onDo()
	}
	return h.out
}

// restorer is an actuator that sets things aside.
type restorer struct{ *stage }

func (restorer) Restore(context.Context, decision.Intent) (Back, error) { return Back{}, nil }
func (restorer) Purge(context.Context, decision.Intent) (int64, error)  { return 0, nil }

func newStage() *stage {
	return &stage{holdErr: map[string]error{}, saveErr: map[string]error{}, again: map[string]func(*decision.Decision) error{}, out: decision.Outcome{Outcome: decision.Done, Detail: "it went"}}
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func (s *stage) carrier() *Carrier {
	n := 0
	return &Carrier{
		Judge: s, Journal: s, Kinds: []string{"tab", "session", "process", "dir"},
		ByKind: map[string]Actuator{"session": s, "process": s, "dir": restorer{s}},
		Caps:   Caps{PerSweep: 50, Share: 1, PerOwner: 50}, TrashTTL: time.Hour,
		NewID: func() string { n++; return fmt.Sprintf("A%d", n) }, Now: func() time.Time { return noon },
	}
}

func reap(kind, name, owner string) decision.Decision {
	id := kind + ":" + name
	return decision.Decision{ID: id, Kind: kind, Verdict: decision.Reap, Owner: owner, InScope: true, Identity: decision.Identity{Key: id}}
}

func spare(kind, name, owner string) decision.Decision {
	d := reap(kind, name, owner)
	d.Verdict = decision.Spare
	return d
}

func TestOrder(t *testing.T) {
	t.Parallel()
	s := newStage()
	c := s.carrier()
	var told []string
	c.Progress = func(a decision.Act) { told = append(told, a.Candidate) }
	ds := []decision.Decision{reap("dir", "d", ""), spare("dir", "kept", ""), reap("process", "p", ""), reap("terminal", "not allowed", ""),
		reap("session", "s", ""), reap("tab", "t", "")}
	acts := c.Carry(t.Context(), "S", ds)
	want := []string{
		"hold session:s", "again session:s", "intend session:s", "save session:s", "again session:s", "act session:s", "close session:s", "settled done",
		"hold process:p", "again process:p", "intend process:p", "save process:p", "again process:p", "act process:p", "close process:p", "settled done",
		"hold dir:d", "again dir:d", "intend dir:d", "save dir:d", "again dir:d", "act dir:d", "close dir:d", "settled done",
	}
	must.Equal(t, want, s.calls, "calls")
	var got []string
	for _, a := range acts {
		got = append(got, a.Candidate+" "+a.Outcome.Outcome)
	}
	must.Equal(t, []string{"tab:t refused", "session:s done", "process:p done", "dir:d done"}, got, "acts")
	if len(told) != len(acts) {
		t.Errorf("reported %v", told)
	}
	if until := acts[3].RestoreUntil; until == nil || !until.Equal(noon.Add(time.Hour)) {
		t.Errorf("the folder is kept until %v", until)
	}
	if acts[2].RestoreUntil != nil {
		t.Error("a process is reported as kept")
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	again := func(change func(*decision.Decision) error) func(*stage) {
		return func(s *stage) { s.again["session:s"] = change }
	}
	last := func(change func(*decision.Decision)) func(*stage) {
		return func(s *stage) { s.last = func(d *decision.Decision) error { change(d); return nil } }
	}
	holdFails := func(err error) func(*stage) { return func(s *stage) { s.holdErr["session:s"] = err } }
	const holding, judged, intended, saving, saved, open, done = "hold", "again", "intend", "save", "last", "act", "settled"
	for _, c := range []struct {
		name     string
		set      func(*stage)
		outcome  string
		detail   string
		farthest string
	}{
		{"done", func(*stage) {}, decision.Done, "it went", done},
		{"gone at the hold", holdFails(Gone("it is not there")), decision.Gone, "it is not there", holding},
		{"changed at the hold", holdFails(fmt.Errorf("look: %w", ErrChanged)), decision.Changed, "look: changed", holding},
		{"refused at the hold", holdFails(Refused("never: %w", context.Canceled)), decision.Refused, "never: context canceled", holding},
		{"failed at the hold", holdFails(errors.New("no memory")), decision.Failed, "no memory", holding},
		{"gone at the second look", again(func(d *decision.Decision) error { *d = decision.Decision{}; return nil }), decision.Gone, "no longer exist", judged},
		{"not judged", again(func(*decision.Decision) error { return errors.New("tmux timed out") }), decision.Refused, "tmux timed out", judged},
		{"another thing", again(func(d *decision.Decision) error { d.Identity.Key = "else"; return nil }), decision.Changed, "no longer the thing", judged},
		{"another id", again(func(d *decision.Decision) error { d.ID = "else"; return nil }), decision.Changed, "no longer the thing", judged},
		{"identity unreadable", again(func(d *decision.Decision) error { d.Identity.Key = ""; return nil }), decision.Refused, "could not be read", judged},
		{"kept now", again(func(d *decision.Decision) error {
			d.Verdict, d.Objections = decision.Spare, []decision.Reason{{Message: "somebody is typing"}}
			return nil
		}), decision.Changed, "somebody is typing", judged},
		{"no reason now", again(func(d *decision.Decision) error { d.Verdict = decision.Spare; return nil }), decision.Changed, "no rule gives a reason to reap it", judged},
		{"no verdict", again(func(d *decision.Decision) error { d.Verdict = ""; return nil }), decision.Changed, "no rule gives a reason to reap it", judged},
		{"intent not durable", func(s *stage) { s.intendErr = errors.New("disk full") }, decision.Failed, "disk full", intended},
		{"not saved", func(s *stage) { s.saveErr["session:s"] = errors.New("no space") }, decision.Failed, "no space", saving},
		{"not saved, and what was saved is left", func(s *stage) {
			s.saveErr["session:s"], s.closeErr = errors.New("no space"), errors.New("text left in the trash")
		},
			decision.Failed, "no space; let go of it: text left in the trash", saving},
		{"gone after the save", last(func(d *decision.Decision) { *d = decision.Decision{} }), decision.Gone, "no longer exist", saved},
		{"kept after the save", last(func(d *decision.Decision) { d.Verdict = decision.Spare }), decision.Changed, "no rule gives a reason to reap it", saved},
		{"another thing after the save", last(func(d *decision.Decision) { d.Identity.Key = "else" }), decision.Changed, "no longer the thing", saved},
		{"another state after the save", last(func(d *decision.Decision) { d.Identity.Session = &decision.Session{State: "typed"} }), decision.Changed, "changed while", saved},
		{"another reason after the save", last(func(d *decision.Decision) { d.Findings = []decision.Reason{{Rule: "else"}} }), decision.Changed, "changed while", saved},
		{"failed", func(s *stage) { s.out = decision.Outcome{Outcome: decision.Failed, Detail: "it hangs"} }, decision.Failed, "it hangs", done},
		{"not known", func(s *stage) { s.out = decision.Outcome{Outcome: decision.Failed, Detail: "who knows", Open: true} }, decision.Failed, "who knows", open},
		{"outcome not written", func(s *stage) { s.settled = errors.New("disk full") }, decision.Done, "it went; this outcome could not be written down: disk full", done},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage()
			c.set(s)
			ds := []decision.Decision{reap("session", "s", "")}
			acts := s.carrier().Carry(t.Context(), "S", ds)
			if len(acts) != 1 || acts[0].Outcome.Outcome != c.outcome || !strings.Contains(acts[0].Detail, c.detail) {
				t.Errorf("acts: %+v", acts)
			}
			want := []string{"hold session:s"}
			switch c.farthest {
			case judged:
				want = append(want, "again session:s", "close session:s")
			case intended:
				want = append(want, "again session:s", "intend session:s", "close session:s")
			case saving:
				want = append(want, "again session:s", "intend session:s", "save session:s", "close session:s", "settled "+c.outcome)
			case saved:
				want = append(want, "again session:s", "intend session:s", "save session:s", "again session:s", "close session:s", "settled "+c.outcome)
			case open:
				want = append(want, "again session:s", "intend session:s", "save session:s", "again session:s", "act session:s", "close session:s")
			case done:
				want = append(want, "again session:s", "intend session:s", "save session:s", "again session:s", "act session:s", "close session:s", "settled "+c.outcome)
			}
			must.Equal(t, want, s.calls, "calls")
		})
	}
	s := newStage()
	unknown := reap("session", "s", "")
	unknown.Identity = decision.Identity{}
	ds := []decision.Decision{unknown}
	if acts := s.carrier().Carry(t.Context(), "S", ds); acts[0].Outcome.Outcome != decision.Refused || len(s.calls) != 0 {
		t.Errorf("without an identity: %+v, %v", acts, s.calls)
	}
}

// TestIntent is made of the second look, not of the first.
func TestIntent(t *testing.T) {
	t.Parallel()
	s := newStage()
	var got decision.Intent
	c := s.carrier()
	c.Journal = journal{s, &got}
	s.again["dir:d"] = func(d *decision.Decision) error {
		d.Identity.Dir = &decision.Dir{Path: "/w/d", Head: "second"}
		d.Findings, d.Label = []decision.Reason{{Rule: "second"}}, "second"
		return nil
	}
	ds := []decision.Decision{reap("dir", "d", "")}
	c.Carry(t.Context(), "S", ds)
	want := decision.Intent{ID: "A1", Sweep: "S", Candidate: "dir:d", Decision: decision.DecisionID("S", "dir:d"), Kind: "dir", Label: "second",
		Identity: decision.Identity{Key: "dir:d", Dir: &decision.Dir{Path: "/w/d", Head: "second"}},
		Findings: []decision.Reason{{Rule: "second"}}, At: noon, RestoreUntil: noon.Add(time.Hour), Plan: json.RawMessage(`{"plan":1}`)}
	must.Equal(t, want, got, "intent")
}

type journal struct {
	*stage
	got *decision.Intent
}

func (j journal) Intend(_ context.Context, in decision.Intent) error { *j.got = in; return nil }

func TestInterrupted(t *testing.T) {
	t.Parallel()
	s := newStage()
	ctx, cancel := context.WithCancelCause(t.Context())
	s.onDo = func() { cancel(errors.New("a key was pressed")) }
	ds := []decision.Decision{reap("session", "1", ""), reap("session", "2", ""), reap("process", "3", "")}
	acts := s.carrier().Carry(ctx, "S", ds)
	if len(acts) != 3 || acts[0].Outcome.Outcome != decision.Done || strings.Contains(acts[0].Detail, "written down") {
		t.Fatalf("acts: %+v", acts)
	}
	for _, a := range acts[1:] {
		if a.Outcome.Outcome != decision.Failed || !strings.Contains(a.Detail, "not tried") || !strings.Contains(a.Detail, "a key was pressed") {
			t.Errorf("act: %+v", a)
		}
	}
	if len(s.calls) != 8 {
		t.Errorf("calls: %v", s.calls)
	}
	// Between the hold and the intent, too.
	s, ctx2 := newStage(), context.Context(nil)
	ctx2, cancel2 := context.WithCancel(t.Context())
	s.again["session:1"] = func(*decision.Decision) error { cancel2(); return nil }
	if acts := s.carrier().Carry(ctx2, "S", ds[:1]); acts[0].Outcome.Outcome != decision.Failed || len(s.calls) != 3 {
		t.Errorf("acts: %+v, calls: %v", acts, s.calls)
	}
}

// TestHalted: a pause that begins while an act is under way lets it come to its end, and nothing is done after it; one that begins between the save and the act
// keeps the act from being done.
func TestHalted(t *testing.T) {
	t.Parallel()
	paused := errors.New("paused by somebody")
	ds := []decision.Decision{reap("session", "1", ""), reap("session", "2", ""), reap("process", "3", "")}
	var halt error
	s := newStage()
	s.onDo = func() { halt = paused }
	c := s.carrier()
	c.Halted = func() error { return halt }
	acts := c.Carry(t.Context(), "S", ds)
	if len(acts) != 3 || acts[0].Outcome.Outcome != decision.Done {
		t.Fatalf("acts: %+v", acts)
	}
	for _, a := range acts[1:] {
		if a.Outcome.Outcome != decision.Failed || !strings.Contains(a.Detail, "not tried") || !strings.Contains(a.Detail, "paused by somebody") {
			t.Errorf("act: %+v", a)
		}
	}
	if slices.ContainsFunc(s.calls, func(call string) bool { return call == "act session:2" || call == "act process:3" }) {
		t.Errorf("calls: %v", s.calls)
	}
	halt = nil
	s = newStage()
	s.last = func(*decision.Decision) error { halt = paused; return nil }
	c = s.carrier()
	c.Halted = func() error { return halt }
	acts = c.Carry(t.Context(), "S", ds[:1])
	if len(acts) != 1 || acts[0].Outcome.Outcome == decision.Done || !strings.Contains(acts[0].Detail, "paused by somebody") || slices.Contains(s.calls, "act session:1") {
		t.Errorf("acts: %+v, calls: %v", acts, s.calls)
	}
	// Without a halt all goes on.
	halt = nil
	s = newStage()
	c = s.carrier()
	c.Halted = func() error { return halt }
	for _, a := range c.Carry(t.Context(), "S", ds) {
		if a.Outcome.Outcome != decision.Done {
			t.Errorf("act: %+v", a)
		}
	}
}
