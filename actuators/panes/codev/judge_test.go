package codev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"winnow/actuators"
	"winnow/collectors"
	looks "winnow/collectors/panes"
	see "winnow/collectors/panes/codev"
	seeprocs "winnow/collectors/processes"
	"winnow/engine/decision"
	"winnow/engine/eval"
	"winnow/engine/policy"
	"winnow/engine/snapshot"
	"winnow/engine/subject"
	"winnow/policies"
)

// shipped has the shipped policies, prepared once for all tests.
var shipped = sync.OnceValues(func() (*eval.Engine, error) { return prepare() })

// prepare loads the shipped policies and others on top.
func prepare(own ...policy.Tree) (*eval.Engine, error) {
	p, err := policy.Load(context.Background(), policy.LoadOptions{Trees: append([]policy.Tree{{Name: "embedded", FS: policies.Files}}, own...)})
	if err != nil {
		return nil, err
	}
	return eval.New(p, eval.Limits{Timeout: time.Minute})
}

// judge is actuators.Judge with the real collectors and policies, as the program wires them. Nothing is young, and one look is enough.
type judge struct {
	*world
	// at is told of every moment at which the world may change: before and after each look.
	at func(moment string)
	n  int
}

var _ actuators.Judge = (*judge)(nil)

// The moments of an act, as judge.at gets them: before it is held, before and after it is judged again, before and after it is judged for the
// last time.
var moments = []string{"decided", "held", "judged", "saved", "last"}

func (w *world) look(ctx context.Context, only string) (*snapshot.Snapshot, error) {
	sources, err := see.Sources(see.Options{Homes: []string{w.Home()}, Tower: w.URL(), Env: w.o.Env, Home: w.env["HOME"], Only: only, Known: w.known,
		Timeout: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	sources = append(sources, collectors.Source{Name: snapshot.Proc, Kind: "processes", Path: "/proc",
		Reader: seeprocs.New(seeprocs.Options{Root: "/proc", Shells: config.Shells, Interpreters: config.Interpreters})})
	s := collectors.Run(ctx, collectors.RunOptions{Sources: sources, Timeout: time.Minute})
	if s.Host, err = seeprocs.Host("/proc", seeprocs.KnownNames()); err != nil {
		return nil, err
	}
	s.Host.SteadySince = new(s.TakenAt.Add(-time.Hour))
	s.Sources[snapshot.Ledger] = snapshot.Source{Kind: "ledger", Status: snapshot.OK}
	looks.Fill(s)
	// What is found now was found before.
	s.Sightings = map[string]snapshot.Sighting{}
	res, err := w.engine.Decide(ctx, s, &config)
	for _, d := range res.Decisions {
		if d.Kind == snapshot.KindTerminal && len(d.Findings) > 0 {
			s.Sightings[d.ID] = snapshot.Sighting{Rule: d.Findings[0].Rule, Identity: d.Identity.Key, FirstAt: s.TakenAt.Add(-time.Hour), LastAt: s.TakenAt, Count: 1}
		}
	}
	return s, err
}

// config is what an operator could have: no grace, and short waits.
var config = subject.Config{Shells: []string{"sh", "bash", "dash"}, Agents: []string{"claude"}, Interpreters: []string{"node", "python*"}}

// judged looks at a terminal and decides. It has no id where there is none.
func (w *world) judged(ctx context.Context, native string) (decision.Decision, error) {
	s, err := w.look(ctx, native)
	if err != nil {
		return decision.Decision{}, err
	}
	id := see.ID("codev/home", native)
	if _, there := s.Terminals[id]; !there {
		if src := s.Sources["codev/home"]; src.Status != snapshot.OK {
			return decision.Decision{}, errors.New(src.Error)
		}
		return decision.Decision{}, nil
	}
	res, err := w.engine.Decide(ctx, s, &config)
	for _, d := range res.Decisions {
		if d.ID == id {
			return d, err
		}
	}
	return decision.Decision{ID: id, Kind: "terminal", Verdict: decision.Spare, Objections: []decision.Reason{{Message: "no rule claims it"}}}, err
}

func (j *judge) Again(ctx context.Context, d decision.Decision) (decision.Decision, error) {
	j.n++
	j.at(moments[2*j.n-1])
	again, err := j.judged(ctx, d.Identity.Terminal.ID)
	j.at(moments[2*j.n])
	return again, err
}

// decide is what a sweep decides; it must be to reap.
func (w *world) decide(native string) decision.Decision {
	w.t.Helper()
	d, err := w.judged(w.t.Context(), native)
	if err != nil || d.Verdict != decision.Reap {
		w.t.Fatalf("%s is not to be reaped: %+v, %v", native, d, err)
	}
	w.decided[native] = d
	return d
}

// carry carries a decision out as a sweep does, with everything that is between the decision and the act. at may be nil.
func (w *world) carry(ctx context.Context, d decision.Decision, at func(moment string)) decision.Outcome {
	w.t.Helper()
	if at == nil {
		at = func(string) {}
	}
	c := actuators.Carrier{
		Judge: &judge{world: w, at: at}, Journal: journal{}, ByKind: map[string]actuators.Actuator{"terminal": New(w.o)}, Kinds: []string{"terminal"},
		Caps: actuators.Caps{PerSweep: 10, Share: 1, ShareFrom: 10, PerOwner: 10}, NewID: func() string { return "A1" }, Now: time.Now,
	}
	at("decided")
	acts := c.Carry(ctx, "S1", []decision.Decision{d}, nil)
	if len(acts) != 1 {
		w.t.Fatalf("%d acts", len(acts))
	}
	fmt.Fprintf(&w.log, "%+v\n", acts[0])
	return acts[0].Outcome
}

type journal struct{}

func (journal) Intend(context.Context, decision.Intent) error           { return nil }
func (journal) Settled(context.Context, string, decision.Outcome) error { return nil }

// worktree makes the folder of a builder that is gone, for the time of f.
func (w *world) worktree(f func(path string)) {
	w.t.Helper()
	path := filepath.Join(w.ws, ".builders", "pir-883")
	if err := os.MkdirAll(path, 0o755); err != nil {
		w.t.Fatal(err)
	}
	f(path)
	if err := os.Remove(path); err != nil {
		w.t.Fatal(err)
	}
}

// own is a policy of the operator's.
func own(t testing.TB, path, text string) *eval.Engine {
	t.Helper()
	e, err := prepare(policy.Tree{Name: "own", FS: fstest.MapFS{path: {Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}
