package tmux

import (
	"context"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.yaml.in/yaml/v3"

	"winnow"
	"winnow/actuators"
	"winnow/collectors"
	"winnow/collectors/panes"
	"winnow/collectors/panes/tmux"
	"winnow/collectors/processes"
	"winnow/engine/decision"
	"winnow/engine/eval"
	"winnow/engine/policy"
	"winnow/engine/snapshot"
	"winnow/engine/subject"
	"winnow/policies"
	testkit "winnow/testkit/tmux"
)

// act is the id that tests give their acts.
const act = "01TESTACT"

// Policies that a judge decides by. loose is the shipped tree of an operator who lets every session go, whoever looks at it and whatever runs in it.
var (
	shipped = sync.OnceValues(func() (*eval.Engine, error) { return load(nil, nil) })
	loose   = sync.OnceValues(func() (*eval.Engine, error) {
		return load([]string{"protect/attached", "protect/live"}, map[string]string{"reap/sessions/all/all.rego": `package policies.reap.sessions.all

in_scope if input.kind == "session"

findings contains {"rule": "reap.sessions.all", "message": "every session goes", "evidence": {}} if input.kind == "session"
`})
	})
	// strict is the shipped tree with one objection more.
	strict = sync.OnceValues(func() (*eval.Engine, error) {
		return load(nil, map[string]string{"protect/mine/mine.rego": `package policies.protect.mine

objections contains {"rule": "protect.mine", "message": "its name says that it is kept", "evidence": {}} if {
	input.kind == "session"
	not _other
}

_other if startswith(input.session.name, "keep") == false
`})
	})
)

func load(without []string, with map[string]string) (*eval.Engine, error) {
	tree := fstest.MapFS{}
	err := fs.WalkDir(policies.Files, ".", func(path string, d fs.DirEntry, err error) error {
		for _, w := range without {
			if path == w {
				return fs.SkipDir
			}
		}
		if err == nil && !d.IsDir() {
			text, bad := fs.ReadFile(policies.Files, path)
			tree[path], err = &fstest.MapFile{Data: text}, bad
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for path, text := range with {
		tree[path] = &fstest.MapFile{Data: []byte(text)}
	}
	p, err := policy.Load(context.Background(), policy.LoadOptions{Trees: []policy.Tree{{Name: "test", FS: tree}}})
	if err != nil {
		return nil, err
	}
	return eval.New(p, eval.Limits{Timeout: time.Minute})
}

// rules are the shipped ones, without any wait.
var rules = sync.OnceValues(func() (*subject.Config, error) {
	var whole struct {
		Rules map[string]any `yaml:"rules"`
	}
	if err := yaml.Unmarshal(winnow.DefaultConfig, &whole); err != nil {
		return nil, err
	}
	plain := seconds(whole.Rules).(map[string]any)
	plain["session_names"] = map[string]any{"prefix": []string{"w", "i", "k", "o"}}
	plain["grace"].(map[string]any)["session"] = 0
	plain["confirm_after"], plain["steady_for"] = 0, 0
	text, err := json.Marshal(plain)
	var out subject.Config
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return &out, err
})

// seconds turns what reads as a duration into seconds, as the program does.
func seconds(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = seconds(x)
		}
	case string:
		if d, err := time.ParseDuration(v); err == nil {
			return d.Seconds()
		}
	}
	return v
}

// judge looks with the real collectors and decides by a policy, as the program does.
type judge struct {
	s      *server
	engine *eval.Engine
	rules  *subject.Config
	// before, when set, is called before each time the thing is judged again, with how often it was before.
	before func(times int)
	times  int
	// intent is that of the last act that was written down.
	intent decision.Intent
}

func (s *server) judge(policy func() (*eval.Engine, error)) *judge {
	s.T.Helper()
	e, err := policy()
	if err != nil {
		s.T.Fatal(err)
	}
	r, err := rules()
	if err != nil {
		s.T.Fatal(err)
	}
	return &judge{s: s, engine: e, rules: r}
}

// look judges all sessions, or the one with that id alone.
func (j *judge) look(ctx context.Context, only string) (map[string]decision.Decision, error) {
	sources, err := tmux.Sources(tmux.Options{Sockets: []string{j.s.Socket}, Only: only})
	if err != nil {
		return nil, err
	}
	sources = append(sources, collectors.Source{Name: snapshot.Proc, Kind: "processes", Path: "/proc", Reader: processes.New(processes.Options{
		Root: "/proc", Markers: snapshot.PaneMarkers, Interpreters: j.rules.Interpreters, Shells: j.rules.Shells})})
	now := processes.Now()
	snap := collectors.Run(ctx, collectors.RunOptions{Sources: sources, Timeout: 20 * time.Second, Now: func() time.Time { return now.At }})
	if snap.Host, err = processes.Host("/proc", processes.KnownNames()); err != nil {
		return nil, err
	}
	snap.Host.UpSeconds, snap.Host.AwakeSeconds, snap.Host.SteadySince = now.Up, now.Awake, new(now.At.Add(-time.Hour))
	panes.Fill(snap)
	snap.Sources[snapshot.Ledger] = snapshot.Source{Kind: "ledger", Status: snapshot.OK}
	snap.Sightings = map[string]snapshot.Sighting{}
	var out map[string]decision.Decision
	for range 2 { // the second time with what the first has found
		res, err := j.engine.Decide(ctx, snap, j.rules)
		if err != nil {
			return nil, err
		}
		out = map[string]decision.Decision{}
		for _, d := range res.Decisions {
			out[d.ID] = d
			if len(d.Findings) > 0 {
				at := now.At.Add(-time.Hour)
				snap.Sightings[d.ID] = snapshot.Sighting{Rule: d.Findings[0].Rule, Identity: d.Identity.Key, FirstAt: at, LastAt: at, Count: 1}
			}
		}
	}
	return out, nil
}

// Again implements actuators.Judge.
func (j *judge) Again(ctx context.Context, d decision.Decision) (decision.Decision, error) {
	if j.before != nil {
		j.before(j.times)
	}
	j.times++
	all, err := j.look(ctx, d.Identity.Session.ID)
	return all[d.ID], err
}

// decide is what is decided of the session of that name, once that is so: it takes a moment until its panes are what they are to be.
func (j *judge) decide(name, verdict string) decision.Decision {
	j.s.T.Helper()
	var d decision.Decision
	var err error
	defer func() {
		if j.s.T.Failed() {
			j.s.T.Logf("session %s: %v %+v", name, err, d)
		}
	}()
	testkit.Eventually(j.s.T, "session "+name+" is judged "+verdict, func() bool {
		var all map[string]decision.Decision
		all, err = j.look(j.s.T.Context(), "")
		d = all[tmux.ID("tmux/"+filepath.Base(j.s.Socket), j.s.ID(name))]
		return err == nil && d.Verdict == verdict
	})
	return d
}

// carry carries a decision out, as a sweep does.
func (j *judge) carry(ctx context.Context, a *Actuator, d decision.Decision) decision.Outcome {
	j.s.T.Helper()
	j.times = 0
	c := actuators.Carrier{Judge: j, Journal: j, ByKind: map[string]actuators.Actuator{"session": a}, Kinds: []string{"session"},
		Caps: actuators.Caps{PerSweep: 1, PerOwner: 1, Share: 1}, TrashTTL: time.Hour, NewID: func() string { return act }, Now: time.Now}
	acts := c.Carry(ctx, "s", []decision.Decision{d}, []decision.Decision{d})
	if len(acts) != 1 {
		j.s.T.Fatalf("%d acts", len(acts))
	}
	return acts[0].Outcome
}

// carry carries out a decision that the loose policy made.
func (s *server) carry(ctx context.Context, a *Actuator, d decision.Decision) decision.Outcome {
	s.T.Helper()
	return s.judge(loose).carry(ctx, a, d)
}

// Intend implements actuators.Journal.
func (j *judge) Intend(_ context.Context, in decision.Intent) error {
	j.intent = in
	return nil
}

// Settled implements actuators.Journal.
func (j *judge) Settled(context.Context, string, decision.Outcome) error { return nil }

// A looser policy is carried out up to the floor: a session that is used, and shares its window. What another session shows goes on.
func TestCarryALooserPolicy(t *testing.T) {
	t.Parallel()
	s := fresh(t, "bystander")
	for _, name := range []string{"watched", "worker"} {
		s.Run("new-session", "-d", "-s", name, "exec sleep 1000")
		s.Attach("=" + name)
	}
	s.Run("new-session", "-d", "-s", "twin", "-t", "=worker")
	s.Run("link-window", "-d", "-s", "=bystander:", "-t", "=worker:7")
	j := s.judge(loose)
	for _, name := range []string{"watched", "worker"} {
		s.judge(shipped).decide(name, decision.Spare)
		d := j.decide(name, decision.Reap)
		out := j.carry(t.Context(), actuator(t, Options{Shells: shells, TermGrace: 200 * time.Millisecond}), d)
		wantOutcome(t, decision.Done, out, "is gone")
		if s.Has(name) || !s.Has("twin") || !s.Has("bystander") {
			t.Errorf("%s is there: %v, its twin: %v, the bystander: %v", name, s.Has(name), s.Has("twin"), s.Has("bystander"))
		}
		for _, p := range d.Identity.Session.Panes {
			if name == "worker" != lives(p.PID) {
				t.Errorf("pane %s of %s lives: %v", p.ID, name, lives(p.PID))
			}
		}
		if name == "worker" && strings.Count(out.Detail, "another session shows its pane") != 2 {
			t.Errorf("the detail is %s", out.Detail)
		}
	}
}

// A stricter policy keeps, at each time that it is asked.
func TestCarryAStricterPolicy(t *testing.T) {
	t.Parallel()
	for times := range 2 {
		s := fresh(t, "worker")
		j := s.judge(strict)
		d := j.decide("worker", decision.Reap)
		j.before = func(n int) {
			if n == times {
				s.Run("rename-session", "-t", d.Identity.Session.ID, "keep")
			}
		}
		a := actuator(t, Options{Shells: shells})
		wantOutcome(t, decision.Changed, j.carry(t.Context(), a, d), "its name says that it is kept")
		wantUntouched(t, a, s, "keep")
	}
}
