// Package judge gives the tests of actuators a real judge: the collectors, the shipped policies or what a test makes of them, the default
// rules without any wait, and the Carrier. Nothing but tests imports it.
package judge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/panes"
	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// Policies are prepared to judge by.
type Policies struct {
	loaded *policy.Policy
	engine *eval.Engine
}

// Tree loads the shipped policies without some packages, each given by its folder such as "protect/live", and with other files, by their
// paths.
func Tree(without []string, with map[string]string) (*Policies, error) {
	files := fstest.MapFS{}
	err := fs.WalkDir(policies.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || slices.Contains(without, path.Dir(name)) {
			return err
		}
		text, err := fs.ReadFile(policies.Files, name)
		files[name] = &fstest.MapFile{Data: text}
		return err
	})
	for name, text := range with {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	if err != nil {
		return nil, err
	}
	p, err := policy.Load(context.Background(), policy.LoadOptions{Trees: []policy.Tree{{Name: "test", FS: files}}})
	if err != nil {
		return nil, err
	}
	return &Policies{p, eval.New(p, eval.Limits{Timeout: time.Minute, HeapBytes: 4 << 30})}, nil
}

// Shipped are the shipped policies, loaded once.
var Shipped = sync.OnceValues(func() (*Policies, error) { return Tree(nil, nil) })

// defaults is the default configuration, loaded once.
var defaults = sync.OnceValues(config.Defaults)

// Judge looks with the collectors and decides by policies, as the program does. It is an actuators.Judge and an actuators.Journal.
type Judge struct {
	T     testing.TB
	Rules subject.Config
	// Kind is the kind of what is judged.
	Kind string
	// Sources are the sources of that kind, and more if need be, but not the processes; of some candidates alone where only is not empty.
	Sources func(only []string) ([]collectors.Source, error)
	// Native is what the source of a decision calls what was decided on.
	Native func(decision.Decision) string
	// Before and After, when set, are called around each time that the thing is judged again, with how often it was in this act before.
	Before, After func(times int)
	// Intent is the last one that was written down, and Outcomes are those that were.
	Intent   decision.Intent
	Outcomes []decision.Outcome

	policies  *Policies
	processes processes.Options
	sightings map[string]snapshot.Sighting
	times     int
}

// New gives a judge of one kind by some policies, with the default rules: but nothing is young, and what was found once was found before.
func New(t testing.TB, kind string, load func() (*Policies, error), sources func(only []string) ([]collectors.Source, error), native func(decision.Decision) string) *Judge {
	t.Helper()
	j := &Judge{T: t, Kind: kind, Sources: sources, Native: native, sightings: map[string]snapshot.Sighting{}}
	c, err := defaults()
	if err != nil {
		t.Fatal(err)
	}
	j.Rules = c.Rules.Config
	j.Rules.Grace, j.Rules.ConfirmAfter, j.Rules.ConfirmProcessAfter, j.Rules.SteadyFor = subject.Grace{}, 0, 0, 0
	j.processes = processes.Options{Root: "/proc", Markers: slices.Concat(c.MarkerNames(), snapshot.PaneMarkers)}
	j.By(load)
	return j
}

// By has the judge decide by other policies from now on.
func (j *Judge) By(load func() (*Policies, error)) {
	j.T.Helper()
	var err error
	if j.policies, err = load(); err != nil {
		j.T.Fatal(err)
	}
}

// Without has it decide by the shipped policies without some packages and with other files, as Tree does.
func (j *Judge) Without(packages []string, with map[string]string) {
	j.T.Helper()
	j.By(func() (*Policies, error) { return Tree(packages, with) })
}

// Look reads the machine and the sources.
func (j *Judge) Look(ctx context.Context, only ...string) (*snapshot.Snapshot, error) {
	sources, err := j.Sources(only)
	if err != nil {
		return nil, err
	}
	o := j.processes
	o.Interpreters, o.Shells = j.Rules.Interpreters, j.Rules.Shells
	o.AgentPackages, o.Browsers = j.Rules.AgentPackages, j.Rules.Browsers()
	o.Classes, o.All = j.policies.loaded.Candidates(snapshot.KindProcess)
	if j.Kind == snapshot.KindProcess {
		for _, native := range only {
			if pid, err := strconv.Atoi(native); err == nil {
				o.Only = append(o.Only, pid)
			}
		}
	}
	now := host.Now()
	s := collectors.Run(ctx, collectors.RunOptions{Timeout: time.Minute, Now: func() time.Time { return now.At },
		Sources: append(sources, collectors.Source{Name: snapshot.Proc, Kind: "processes", Path: "/proc", Reader: processes.New(o)})})
	if s.Host, err = host.Read("/proc", host.KnownNames()); err != nil {
		return nil, err
	}
	s.Host.UpSeconds, s.Host.AwakeSeconds = now.Up, now.Awake
	s.Host.SteadySince, s.Host.Asleep = new(now.At.Add(-time.Hour)), &[]snapshot.Asleep{}
	panes.Fill(s)
	s.Sources[snapshot.Ledger] = snapshot.Source{Kind: "ledger", Status: snapshot.OK}
	return s, nil
}

// decide looks and decides, by id. What is found for the first time was found an hour ago too.
func (j *Judge) decide(ctx context.Context, only []string) (*snapshot.Snapshot, map[string]decision.Decision, error) {
	s, err := j.Look(ctx, only...)
	if err != nil {
		return nil, nil, err
	}
	for {
		s.Sightings = maps.Clone(j.sightings)
		res, err := j.policies.engine.Decide(ctx, s, &j.Rules)
		if err != nil {
			return nil, nil, err
		}
		out, news := map[string]decision.Decision{}, false
		for _, d := range res.Decisions {
			out[d.ID] = d
			if d.Kind == j.Kind && len(d.Findings) > 0 && j.sightings[d.ID].Identity != d.Identity.Key {
				news = true
				j.sightings[d.ID] = snapshot.Sighting{Rule: d.Findings[0].Rule, Identity: d.Identity.Key,
					FirstAt: s.TakenAt.Add(-time.Hour), LastAt: s.TakenAt.Add(-time.Minute), Count: 1}
			}
		}
		if !news {
			return s, out, nil
		}
	}
}

// Rejudge implements actuators.Judge. What no policy claims is kept.
func (j *Judge) Rejudge(ctx context.Context, ds []decision.Decision) []actuators.Judgement {
	if j.Before != nil {
		j.Before(j.times)
	}
	var natives []string
	for _, d := range ds {
		natives = append(natives, j.Native(d))
	}
	s, all, err := j.decide(ctx, natives)
	out := make([]actuators.Judgement, len(ds))
	for i, d := range ds {
		if out[i].Err = err; err == nil {
			out[i].Decision, out[i].Err = j.of(s, all, d.ID)
		}
	}
	if j.After != nil {
		j.After(j.times)
	}
	j.times++
	return out
}

// One decides on one thing alone. The decision has no ID where the thing is not there, and is to keep it where no policy claims it.
func (j *Judge) One(ctx context.Context, id, native string) (decision.Decision, error) {
	s, all, err := j.decide(ctx, []string{native})
	if err != nil {
		return decision.Decision{}, err
	}
	return j.of(s, all, id)
}

func (j *Judge) of(s *snapshot.Snapshot, all map[string]decision.Decision, id string) (d decision.Decision, err error) {
	if _, there := s.Find(id); there {
		d, claimed := all[id]
		if !claimed {
			d = decision.Decision{ID: id, Kind: j.Kind, Verdict: decision.Spare}
		}
		return d, nil
	}
	for name, src := range s.Sources {
		if src.Status == snapshot.Failed {
			err = errors.Join(err, fmt.Errorf("look again: %s could not be read: %s", name, src.Error))
		}
	}
	return decision.Decision{}, err
}

// Until waits until one thing is judged like that: it takes a moment until what was just started is what it is to be.
func (j *Judge) Until(verdict, id, native string) decision.Decision {
	j.T.Helper()
	var d decision.Decision
	var err error
	if !wait.Until(wait.Patience, func() bool {
		d, err = j.One(j.T.Context(), id, native)
		return err == nil && d.ID != "" && d.Verdict == verdict
	}) {
		j.T.Fatalf("after %s %s is not judged %s: %v %+v", wait.Patience, id, verdict, err, d)
	}
	return d
}

// Carry carries a decision out, as a sweep does. The act has the id Act.
func (j *Judge) Carry(ctx context.Context, a actuators.Actuator, d decision.Decision) decision.Outcome {
	j.T.Helper()
	return j.CarryAll(ctx, a, d)[0].Outcome
}

// CarryAll carries several decisions out, as a sweep does, in the order of their acts. The first act has the id Act, the others that with a number.
func (j *Judge) CarryAll(ctx context.Context, a actuators.Actuator, ds ...decision.Decision) []decision.Act {
	j.T.Helper()
	j.times = 0
	begun := 0
	id := func() string {
		if begun++; begun == 1 {
			return Act
		}
		return Act + strconv.Itoa(begun)
	}
	c := actuators.Carrier{Judge: j, Journal: j, ByKind: map[string]actuators.Actuator{j.Kind: a}, Kinds: []string{j.Kind},
		Caps: actuators.Caps{PerSweep: len(ds), PerOwner: len(ds), Share: 1, ShareFrom: 1}, TrashTTL: time.Hour, NewID: id, Now: time.Now}
	acts := c.Carry(ctx, "S1", ds)
	if len(acts) != len(ds) {
		j.T.Fatalf("%d acts for %d decisions", len(acts), len(ds))
	}
	return acts
}

// Looks is in how many looks the last act, or acts, were judged again.
func (j *Judge) Looks() int { return j.times }

// Act is the id of every act that Carry carries out.
const Act = "01TESTACT"

// Trial is an act that a test has made ready.
type Trial struct {
	*Judge
	Actuator actuators.Actuator
	Decision decision.Decision
	// Change makes the thing another one, or puts it into another state. There reports whether it is there and was not touched.
	Change func()
	There  func() bool
}

// Window changes a thing in the last moments of an act: between what is saved and the last judgement, where the judge finds it, and between
// that judgement and the one call that cannot be undone, where only what the actuator itself compares can. Both times it must be kept, and
// when nothing changes it must go. ready makes a new thing each time.
func Window(t *testing.T, ready func(t *testing.T) Trial) {
	for name, set := range map[string]func(x *Trial, change func(times int)){
		"nothing changes": nil,
		"it changes between the save and the last judgement": func(x *Trial, change func(int)) { x.Before = change },
		"it changes between the last judgement and the act":  func(x *Trial, change func(int)) { x.After = change },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := ready(t)
			if set != nil {
				set(&x, func(times int) {
					if times == 1 {
						x.Change()
					}
				})
			}
			out := x.Carry(t.Context(), x.Actuator, x.Decision)
			kept := out.Outcome == decision.Changed || out.Outcome == decision.Refused
			if set == nil && out.Outcome != decision.Done || set != nil && !kept || x.There() != kept || x.times != 2 {
				t.Errorf("after %d judgements, and it is there: %v: %+v", x.times, x.There(), out)
			}
		})
	}
}

// Intend implements actuators.Journal.
func (j *Judge) Intend(_ context.Context, in decision.Intent) error {
	j.Intent = in
	return nil
}

// Settled implements actuators.Journal.
func (j *Judge) Settled(_ context.Context, _ string, out decision.Outcome) error {
	j.Outcomes = append(j.Outcomes, out)
	return nil
}

// WantOutcome fails the test where an act did not end like that, or its detail does not have all of the words.
func WantOutcome(t testing.TB, want string, got decision.Outcome, words ...string) {
	t.Helper()
	if got.Outcome != want {
		t.Fatalf("want %s, got %s: %s", want, got.Outcome, got.Detail)
	}
	wantWords(t, got.Detail, words)
}

// WantErr fails the test where an error is another one, or does not have all of the words.
func WantErr(t testing.TB, want, got error, words ...string) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("want %v, got %v", want, got)
	}
	wantWords(t, got.Error(), words)
}

func wantWords(t testing.TB, text string, words []string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("it does not say %q: %s", w, text)
		}
	}
}
