package brakes

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/decision"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

var limits = Limits{CapTimes: 2, CameBackWithin: time.Hour}

func held(kind, by string, stops bool) decision.Cap {
	return decision.Cap{Kind: kind, Cap: by, Wanted: 9, Held: 9, Stops: stops, Why: "too many"}
}

func act(id, candidate, outcome string, disputed bool) decision.Act {
	return decision.Act{ID: id, Candidate: candidate, Kind: "session", Outcome: decision.Outcome{Outcome: outcome, Detail: "how it went", Disputed: disputed}}
}

// wanted is a decision that has its thing go, now or after its wait.
func wanted(id string) decision.Decision {
	return decision.Decision{ID: id, Kind: "session", Verdict: decision.Reap}
}

// likeFirst has things be alike whose ids begin with the same word.
func likeFirst(id string) string {
	word, _, _ := strings.Cut(id, "/")
	return word
}

func rules(of []Brake) string {
	var out []string
	for _, b := range of {
		out = append(out, b.Rule)
	}
	return strings.Join(out, " ")
}

// look is a whole sweep: it acts where nothing tripped before.
func look(m Memory, s Swept, l Limits) (next Memory, tripped []Brake) {
	next, tripped = m.CheckBefore(s, l)
	if len(tripped) > 0 {
		return next, tripped
	}
	return next.CheckAfter(s, l)
}

// TestSweeps gives the sweeps one after another, and says after each what tripped in it.
func TestSweeps(t *testing.T) {
	t.Parallel()
	type step struct {
		at   time.Duration
		s    Swept
		want string
	}
	caps := func(c ...decision.Cap) Swept { return Swept{Caps: c} }
	acts := func(a ...decision.Act) Swept { return Swept{Acts: a} }
	with := func(s Swept, ids ...string) Swept { s.IDs = ids; return s }
	goes := func(ids ...string) Swept {
		var s Swept
		for _, id := range ids {
			s.Decisions = append(s.Decisions, wanted(id))
		}
		return s
	}
	for name, steps := range map[string][]step{
		"nothing":                            {{0, Swept{}, ""}, {time.Minute, Swept{}, ""}},
		"the same cap twice":                 {{0, caps(held("dir", "share", true)), ""}, {1, caps(held("dir", "share", true)), CapTwice}},
		"the same cap twice, with a break":   {{0, caps(held("dir", "share", true)), ""}, {1, Swept{}, ""}, {2, caps(held("dir", "share", true)), ""}},
		"two caps, each once":                {{0, caps(held("dir", "share", true)), ""}, {1, caps(held("dir", "jump", true)), ""}},
		"one cap, two kinds":                 {{0, caps(held("dir", "share", true)), ""}, {1, caps(held("tab", "share", true)), ""}},
		"a slice of a backlog":               {{0, caps(held("dir", "per_sweep", false)), ""}, {1, caps(held("dir", "per_sweep", false)), ""}},
		"a cap a third time says it no more": {{0, caps(held("dir", "share", true)), ""}, {1, caps(held("dir", "share", true)), CapTwice}, {2, caps(held("dir", "share", true)), ""}},
		"a source that shrank":               {{0, caps(held("session", decision.CapShrunk, true)), SourceShrank}},
		"an act that changed nothing":        {{0, acts(act("A1", "a/1", decision.Failed, true)), ReadBack}},
		"an act that failed otherwise":       {{0, acts(act("A1", "a/1", decision.Failed, false)), ""}},
		"it came back":                       {{0, acts(act("A1", "a/1", decision.Done, false)), ""}, {time.Minute, goes("a/2"), CameBack}},
		"it came back once, and says so once": {
			{0, acts(act("A1", "a/1", decision.Done, false)), ""}, {time.Minute, goes("a/2"), CameBack}, {2 * time.Minute, goes("a/2"), ""}},
		"it came back late":                  {{0, acts(act("A1", "a/1", decision.Done, false)), ""}, {61 * time.Minute, goes("a/2"), ""}},
		"it came back after the clock moved": {{0, acts(act("A1", "a/1", decision.Done, false)), ""}, {-time.Minute, goes("a/2"), ""}},
		"another one":                        {{0, acts(act("A1", "a/1", decision.Done, false)), ""}, {time.Minute, goes("b/1"), ""}},
		"the same one is back":               {{0, acts(act("A1", "a/1", decision.Done, false)), ""}, {time.Minute, goes("a/1"), CameBack}},
		"it never went":                      {{0, acts(act("A1", "a/1", decision.Failed, false)), ""}, {time.Minute, goes("a/2"), ""}},
		"others like it, which were there":   {{0, with(acts(act("A1", "a/1", decision.Done, false)), "a/1", "a/2", "a/3"), ""}, {time.Minute, goes("a/2"), ""}, {2 * time.Minute, goes("a/3"), ""}},
		"others in slices": {{0, with(acts(act("A1", "a/1", decision.Done, false)), "a/1", "a/2", "a/3"), ""},
			{1, with(acts(act("A2", "a/2", decision.Done, false)), "a/2", "a/3"), ""}, {2, goes("a/3"), ""}},
		"one that came after the first slice": {{0, with(acts(act("A1", "a/1", decision.Done, false)), "a/1", "a/2"), ""},
			{1, with(acts(act("A2", "a/2", decision.Done, false)), "a/2", "a/3"), ""}, {2, goes("a/3"), CameBack}},
		"one that went is back":             {{0, with(acts(act("A1", "a/1", decision.Done, false)), "a/1", "a/2"), ""}, {time.Minute, goes("a/1"), CameBack}},
		"one that came back beside another": {{0, with(acts(act("A1", "a/1", decision.Done, false)), "a/1", "a/2"), ""}, {time.Minute, goes("a/2", "a/3"), CameBack}},
		"it came back, and may stay": {{0, acts(act("A1", "a/1", decision.Done, false)), ""},
			{time.Minute, Swept{Decisions: []decision.Decision{{ID: "a/2", Kind: "session", Verdict: decision.Spare}}}, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var m Memory
			all := 0
			for i, st := range steps {
				st.s.At, st.s.Sweep, st.s.Like = noon.Add(st.at), "S", likeFirst
				before := len(m.Tripped)
				next, tripped := look(m, st.s, limits)
				if got := rules(tripped); got != st.want {
					t.Fatalf("sweep %d tripped %q, want %q", i, got, st.want)
				}
				if len(m.Tripped) != before {
					t.Fatal("what was remembered before has changed")
				}
				m = next
				if all += len(tripped); len(m.Tripped) != all {
					t.Fatalf("sweep %d: %d are remembered, want %d", i, len(m.Tripped), all)
				}
				for _, b := range tripped {
					if b.Message == "" || !b.At.Equal(st.s.At) || b.Sweep != "S" {
						t.Errorf("brake: %+v", b)
					}
				}
			}
		})
	}
}

// TestOff: a limit of zero turns its brake off, and what cannot be compared is like nothing.
func TestOff(t *testing.T) {
	t.Parallel()
	var m Memory
	for i := range 5 {
		next, tripped := look(m, Swept{At: noon.Add(time.Duration(i)), Like: likeFirst, Caps: []decision.Cap{held("dir", "share", true)},
			Acts: []decision.Act{act("A", "a/1", decision.Done, false)}, Decisions: []decision.Decision{wanted("a/2")}}, Limits{})
		if len(tripped) > 0 || len(next.Ended) > 0 {
			t.Fatalf("tripped %q, remembers %v", rules(tripped), next.Ended)
		}
		m = next
	}
	m, _ = look(Memory{}, Swept{At: noon, Acts: []decision.Act{act("A", "a/1", decision.Done, false)}}, limits)
	if _, tripped := look(m, Swept{At: noon, Decisions: []decision.Decision{wanted("a/2")}}, limits); len(tripped) > 0 {
		t.Errorf("nothing can be compared, and %q tripped", rules(tripped))
	}
}

// TestTheLimitBecomesLess: a cap that has held more often by then trips the next time, once.
func TestTheLimitBecomesLess(t *testing.T) {
	t.Parallel()
	var m Memory
	for i, l := range []Limits{{}, {}, {CapTimes: 2}, {CapTimes: 2}} {
		next, tripped := look(m, Swept{At: noon, Like: likeFirst, Caps: []decision.Cap{held("dir", "share", true)}}, l)
		if (len(tripped) > 0) != (i == 2) {
			t.Errorf("sweep %d tripped %q", i, rules(tripped))
		}
		m = next
	}
}

// TestAReleaseOfASourceThatShrank lasts until the next sweep for which the cap holds, and the brake says so.
func TestAReleaseOfASourceThatShrank(t *testing.T) {
	t.Parallel()
	shrank := Swept{At: noon, Like: likeFirst, Caps: []decision.Cap{held("session", decision.CapShrunk, true)}}
	m, tripped := look(Memory{}, shrank, limits)
	for _, want := range []string{"act.caps.shrunk_within", "trips again", "--all-of session"} {
		if len(tripped) != 1 || !strings.Contains(tripped[0].Message, want) {
			t.Errorf("want %q: %+v", want, tripped)
		}
	}
	free, _ := m.Releases()
	if _, tripped := look(free, shrank, limits); rules(tripped) != SourceShrank {
		t.Errorf("after the release tripped %q", rules(tripped))
	}
}

// TestWithout: what a person brought back did not come back by itself, and what else was ended may have.
func TestWithout(t *testing.T) {
	t.Parallel()
	m, _ := look(Memory{}, Swept{At: noon, Like: likeFirst, Acts: []decision.Act{act("A1", "a/1", decision.Done, false), act("A2", "b/1", decision.Done, false)}}, limits)
	_, tripped := look(m.Without([]string{"A1"}), Swept{At: noon, Like: likeFirst, Decisions: []decision.Decision{wanted("a/1"), wanted("b/1")}}, limits)
	if len(tripped) != 1 || tripped[0].Candidate != "b/1" {
		t.Errorf("tripped: %+v", tripped)
	}
	if len(m.Ended) != 2 {
		t.Error("what was remembered before has changed")
	}
}

// TestReleases: what was released does not trip again at once, and what was not released still holds.
func TestReleases(t *testing.T) {
	t.Parallel()
	at := func(m time.Duration, s Swept) Swept { s.At, s.Like = noon.Add(m*time.Minute), likeFirst; return s }
	m, _ := look(Memory{}, at(0, Swept{Acts: []decision.Act{act("A1", "a/1", decision.Done, false), act("A2", "b/1", decision.Failed, true)}}), limits)
	m, _ = look(m, at(1, Swept{Decisions: []decision.Decision{wanted("a/2")}}), limits)
	m, _ = look(m, at(2, Swept{Caps: []decision.Cap{held("dir", "share", true)}}), limits)
	m, _ = look(m, at(3, Swept{Caps: []decision.Cap{held("dir", "share", true)}}), limits)
	if got := rules(m.Tripped); got != "read_back came_back cap_twice" {
		t.Fatalf("tripped: %s", got)
	}
	some, released := m.Releases(CameBack)
	if rules(released) != CameBack || rules(some.Tripped) != "read_back cap_twice" {
		t.Errorf("released %s, left %s", rules(released), rules(some.Tripped))
	}
	if none, released := m.Releases(SourceShrank); len(released) > 0 || rules(none.Tripped) != rules(m.Tripped) {
		t.Errorf("released %s, left %s", rules(released), rules(none.Tripped))
	}
	free, released := m.Releases()
	if len(released) != 3 || !cmp.Equal(free, Memory{}) {
		t.Errorf("released %s, left %+v", rules(released), free)
	}
	next, tripped := look(free, at(4, Swept{Caps: []decision.Cap{held("dir", "share", true)}, Decisions: []decision.Decision{wanted("a/2")}}), limits)
	if len(tripped) > 0 || len(next.Tripped) > 0 {
		t.Errorf("right after the release tripped %s", rules(tripped))
	}
}

// TestBounded: what was ended is remembered up to a bound.
func TestBounded(t *testing.T) {
	t.Parallel()
	var acts []decision.Act
	for i := range maxEnded + 100 {
		acts = append(acts, act("A", strings.Repeat("x", i+1), decision.Done, false))
	}
	m, _ := look(Memory{}, Swept{At: noon, Like: likeFirst, Acts: acts}, limits)
	if len(m.Ended) != maxEnded || m.Ended["x"].Candidate != "x" {
		t.Errorf("%d are remembered, want %d", len(m.Ended), maxEnded)
	}
}
