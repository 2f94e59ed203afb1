package herdr

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"winnow/actuators"
	"winnow/collectors"
	collect "winnow/collectors/panes"
	seen "winnow/collectors/panes/herdr"
	"winnow/collectors/processes"
	"winnow/engine/decision"
	"winnow/engine/eval"
	"winnow/engine/policy"
	"winnow/engine/snapshot"
	"winnow/engine/subject"
	"winnow/policies"
)

// judge is the real one: the collectors, the shipped policies or what a test makes of them, and a memory of an earlier look.
type judge struct {
	engine *eval.Engine
	rules  subject.Config
	socket string
	env    func(string) string
	rule   string // whose finding an earlier look remembers
}

// shipped are the embedded policies, prepared once.
var shipped = sync.OnceValues(func() (*eval.Engine, error) { return prepared(policies.Files) })

func prepared(files fs.FS) (*eval.Engine, error) {
	p, err := policy.Load(context.Background(), policy.LoadOptions{Trees: []policy.Tree{{Name: "embedded", FS: files}}})
	if err != nil {
		return nil, err
	}
	return eval.New(p, eval.Limits{Timeout: time.Minute, HeapBytes: 4 << 30})
}

// without are the embedded policies but for some packages, with other files besides.
func without(t testing.TB, packages []string, more map[string]string) *eval.Engine {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(policies.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || slices.Contains(packages, path.Dir(name)) {
			return err
		}
		text, err := fs.ReadFile(policies.Files, name)
		files[name] = &fstest.MapFile{Data: text}
		return err
	})
	for name, text := range more {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	if err != nil {
		t.Fatal(err)
	}
	e, err := prepared(files)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (w *world) judge() *judge {
	w.t.Helper()
	e, err := shipped()
	if err != nil {
		w.t.Fatal(err)
	}
	return &judge{engine: e, rule: "reap.tabs.husk", socket: w.s.Socket(), rules: subject.Config{
		Shells: []string{"sh", "bash"}, AgentIdle: []string{"unknown"}, HerdrProtocols: []int{14, 16, 17, 19},
		HelperLabels: subject.Names{Exact: []string{label}}, NeverProcesses: []string{"ssh-agent"}, Multiplexers: []string{"tmux: server"},
	}}
}

// look reads the machine and the server; of one tab alone where only is not empty.
func (j *judge) look(ctx context.Context, only string) (*snapshot.Snapshot, error) {
	sources, err := seen.Sources(seen.Options{Sockets: []string{j.socket}, UID: os.Geteuid(), Env: j.env, Only: only, Inspect: func(string) bool { return true }})
	if err != nil {
		return nil, err
	}
	markers := append([]string{"HERDR_SOCKET_PATH"}, snapshot.PaneMarkers...)
	sources = append(sources, collectors.Source{Name: snapshot.Proc, Kind: "processes", Path: "/proc",
		Reader: processes.New(processes.Options{Root: "/proc", Markers: markers, Shells: j.rules.Shells})})
	s := collectors.Run(ctx, collectors.RunOptions{Sources: sources, Timeout: time.Minute})
	if s.Host, err = processes.Host("/proc", processes.KnownNames()); err != nil {
		return nil, err
	}
	s.Sources[snapshot.Ledger] = snapshot.Source{Kind: "ledger", Status: snapshot.OK}
	steady := s.TakenAt.Add(-time.Hour)
	s.Host.SteadySince, s.Host.Asleep = &steady, &[]snapshot.Asleep{}
	collect.Fill(s)
	return s, nil
}

// decide gives the decision on a tab; one without an ID where it is not there.
func (j *judge) decide(ctx context.Context, tab, only string) (decision.Decision, error) {
	s, err := j.look(ctx, only)
	if err != nil {
		return decision.Decision{}, err
	}
	for id, x := range s.Tabs {
		if x.ID != tab {
			continue
		}
		s.Sightings = map[string]snapshot.Sighting{id: {Rule: j.rule, Identity: subject.Join(s, &j.rules).Identity(id).Key,
			FirstAt: s.TakenAt.Add(-time.Hour), LastAt: s.TakenAt.Add(-time.Minute), Count: 1}}
		res, err := j.engine.Decide(ctx, s, &j.rules)
		if err != nil {
			return decision.Decision{}, err
		}
		for _, d := range res.Decisions {
			if d.ID == id {
				return d, nil
			}
		}
		return decision.Decision{ID: id, Kind: snapshot.KindTab, Verdict: decision.Spare}, nil
	}
	for _, src := range s.Sources {
		if src.Kind == seen.Kind && src.Status == snapshot.Failed {
			return decision.Decision{}, fmt.Errorf("look again: %s", src.Error)
		}
	}
	return decision.Decision{}, nil
}

// Again implements actuators.Judge.
func (j *judge) Again(ctx context.Context, d decision.Decision) (decision.Decision, error) {
	return j.decide(ctx, d.Identity.Tab.ID, d.Identity.Tab.ID)
}

// journal forgets what it is told.
type journal struct{}

func (journal) Intend(context.Context, decision.Intent) error           { return nil }
func (journal) Settled(context.Context, string, decision.Outcome) error { return nil }

// carry has the Carrier carry a decision out, with the real judge.
func (j *judge) carry(ctx context.Context, a *Actuator, d decision.Decision) decision.Outcome {
	c := actuators.Carrier{Judge: j, Journal: journal{}, ByKind: map[string]actuators.Actuator{snapshot.KindTab: a}, Kinds: []string{snapshot.KindTab},
		Caps: actuators.Caps{PerSweep: 9, Share: 1, PerOwner: 9}, TrashTTL: time.Hour, NewID: func() string { return act }, Now: time.Now}
	return c.Carry(ctx, "sweep", []decision.Decision{d}, []decision.Decision{d})[0].Outcome
}

// judged is the decision to reap a tab. It waits until its shells wait for input.
func (w *world) judged(tab string) decision.Decision {
	w.t.Helper()
	d := w.decided(w.judge(), tab)
	if d.Verdict != decision.Reap {
		w.t.Fatalf("want it reaped: %s", objections(d))
	}
	return d
}

func (w *world) decided(j *judge, tab string) decision.Decision {
	w.t.Helper()
	for _, p := range w.s.Panes(tab) {
		if p.PID > 0 {
			settled(w.t, p.PID)
		}
	}
	for _, sh := range w.shells {
		settled(w.t, sh.pid)
	}
	d, err := j.decide(w.t.Context(), tab, tab)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func objections(d decision.Decision) string {
	var out []string
	for _, o := range d.Objections {
		out = append(out, fmt.Sprintf("%s: %s %v", o.Rule, o.Message, o.Evidence))
	}
	return fmt.Sprintf("%s %s: %s", d.ID, d.Verdict, strings.Join(out, "; "))
}
