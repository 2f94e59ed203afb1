package eval_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/incidents"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/rules"
)

// clone is a snapshot that shares nothing with another one.
func clone(t testing.TB, s *snapshot.Snapshot) *snapshot.Snapshot {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	out := &snapshot.Snapshot{}
	if err := json.Unmarshal(data, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// changer changes one fact of a snapshot after the other, whichever.
type changer struct {
	*rand.Rand
	texts []string
}

// gather notes the texts of a value, so that a fact can become what another one is.
func (c *changer) gather(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		c.texts = append(c.texts, v.String())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			c.gather(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			c.gather(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			c.gather(k)
			c.gather(v.MapIndex(k))
		}
	case reflect.Struct:
		if v.Type() != reflect.TypeFor[time.Time]() {
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					c.gather(v.Field(i))
				}
			}
		}
	}
}

// places are the values in v that can be set, the members of maps left out.
func places(v reflect.Value, out []reflect.Value) []reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		out = append(out, v)
		if !v.IsNil() {
			out = places(v.Elem(), out)
		}
	case reflect.Slice:
		out = append(out, v)
		for i := range v.Len() {
			out = places(v.Index(i), out)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return append(out, v)
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out = places(v.Field(i), out)
			}
		}
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
		out = append(out, v)
	}
	return out
}

func (c *changer) set(v reflect.Value, now time.Time) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		v.SetString(c.texts[c.IntN(len(c.texts))])
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + int64(c.IntN(5)) - 2)
	case reflect.Uint64:
		v.SetUint(v.Uint() + uint64(c.IntN(3)))
	case reflect.Float64:
		v.SetFloat(v.Float() * 2 * c.Float64())
	case reflect.Struct: // a time
		v.Set(reflect.ValueOf(now.Add(-time.Duration(c.IntN(400000)) * time.Second)))
	case reflect.Slice:
		if v.Len() > 0 && c.IntN(2) == 0 {
			v.Set(v.Slice(0, v.Len()-1))
			return
		}
		v.Set(reflect.Append(v, reflect.New(v.Type().Elem()).Elem()))
	case reflect.Pointer:
		if !v.IsNil() && c.IntN(3) == 0 {
			v.SetZero()
			return
		}
		of := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			of.Elem().Set(v.Elem())
		}
		if kind := of.Elem().Kind(); kind != reflect.Struct || of.Elem().Type() == reflect.TypeFor[time.Time]() {
			c.set(of.Elem(), now)
		}
		v.Set(of)
	}
}

// change changes n facts: of candidates, records, sources, the machine.
func (c *changer) change(s *snapshot.Snapshot, n int) {
	for range n {
		of := reflect.ValueOf(s).Elem()
		all := []reflect.Value{}
		for i := range of.NumField() {
			f := of.Field(i)
			if f.Kind() == reflect.Map && f.Len() > 0 || f.Kind() == reflect.Slice && f.Len() > 0 || f.Kind() == reflect.Struct && f.Type() == reflect.TypeFor[snapshot.Host]() {
				all = append(all, f)
			}
		}
		f := all[c.IntN(len(all))]
		if f.Kind() == reflect.Map {
			keys := f.MapKeys()
			slices.SortFunc(keys, func(a, b reflect.Value) int { return cmpText(a, b) })
			key := keys[c.IntN(len(keys))]
			if c.IntN(20) == 0 {
				f.SetMapIndex(key, reflect.Value{})
				continue
			}
			if v := f.MapIndex(key); v.Kind() == reflect.Pointer {
				c.one(v.Elem(), s.TakenAt)
				continue
			}
			v := reflect.New(f.Type().Elem()).Elem()
			v.Set(f.MapIndex(key))
			c.one(v, s.TakenAt)
			f.SetMapIndex(key, v)
			continue
		}
		c.one(f, s.TakenAt)
	}
}

func cmpText(a, b reflect.Value) int {
	switch {
	case a.Kind() != reflect.String:
		return int(a.Int() - b.Int())
	case a.String() < b.String():
		return -1
	case a.String() > b.String():
		return 1
	default:
		return 0
	}
}

func (c *changer) one(v reflect.Value, now time.Time) {
	if ps := places(v, nil); len(ps) > 0 {
		c.set(ps[c.IntN(len(ps))], now)
	}
}

// held holds a memory to an engine that keeps nothing, over snapshots that follow one another.
type held struct {
	engine      *eval.Engine
	memory      *eval.Memory
	asked, kept int
	reaped      int
}

func (h *held) hold(t *testing.T, what string, s *snapshot.Snapshot, c *subject.Config) {
	t.Helper()
	want, err := h.engine.Decide(t.Context(), s, c)
	if err != nil {
		t.Fatal(err)
	}
	h.memory.Begin(false)
	have, err := h.memory.Decide(t.Context(), s, c)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want.Decisions, have.Decisions); diff != "" {
		t.Fatalf("%s: decided otherwise by what was kept (-engine +memory):\n%s", what, diff)
	}
	recall := h.memory.Recall()
	h.asked, h.kept = h.asked+recall.Asked, h.kept+recall.Kept
	for _, d := range have.Decisions {
		if d.Verdict == decision.Reap {
			h.reaped++
		}
	}
	all := func(string) bool { return true }
	before, err := h.engine.Foregone(t.Context(), s, c, all)
	if err != nil {
		t.Fatal(err)
	}
	now, err := h.memory.Foregone(t.Context(), s, c, all)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(before, now); diff != "" {
		t.Fatalf("%s: foregone otherwise by what was kept (-engine +memory):\n%s", what, diff)
	}
}

// TestAMemoryDecidesTheSame on random worlds that change at random, and on every case of policy_test: what stands of what was said before is what would be said now.
func TestAMemoryDecidesTheSame(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]*eval.Engine{"here": ready(t, shipped(t), eval.Limits{}), "apart": apart(t, eval.Limits{}, embedded)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			worlds, every := uint64(4), 5
			if name == "apart" {
				worlds, every = 2, 24
			}
			if attack.Raced {
				if name == "apart" {
					attack.WithoutRaces(t)
				}
				worlds, every = 1, 1000
			}
			sum := held{engine: e}
			for seed := range worlds {
				m := newMaker(seed, 0.03*float64(seed%3))
				sum.memory = e.Memory()
				worlds := []*snapshot.Snapshot{clone(t, m.world(150)), clone(t, m.further(150))}
				for _, s := range worlds {
					c := &changer{Rand: rand.New(rand.NewPCG(seed, 3))}
					c.gather(reflect.ValueOf(s))
					for range 8 {
						sum.hold(t, "a random world", s, config())
						s = clone(t, s)
						s.TakenAt = s.TakenAt.Add(time.Duration(c.IntN(2000)) * time.Second)
						c.change(s, c.IntN(8))
					}
				}
			}
			all, err := incidents.All()
			if err != nil {
				t.Fatal(err)
			}
			c := &changer{Rand: rand.New(rand.NewPCG(5, 3))}
			for i, name := range slices.Sorted(maps.Keys(all)) {
				if i%every != 0 {
					continue
				}
				doc, err := all[name].Document()
				if err != nil {
					t.Fatal(err)
				}
				s, err := incidents.Parse(doc)
				if err != nil {
					t.Fatal(err)
				}
				config, err := all[name].Rules()
				if err != nil {
					t.Fatal(err)
				}
				s, c.texts, sum.memory = clone(t, s), nil, e.Memory()
				c.gather(reflect.ValueOf(s))
				for range 4 {
					sum.hold(t, name, s, config)
					s = clone(t, s)
					s.TakenAt = s.TakenAt.Add(time.Duration(c.IntN(300)) * time.Second)
					c.change(s, c.IntN(3))
				}
			}
			t.Logf("%d asked, %d kept, %d reaped", sum.asked, sum.kept, sum.reaped)
			if sum.kept < sum.asked/4 || sum.reaped == 0 {
				t.Errorf("%d answers stood and %d were asked for: the test holds nothing", sum.kept, sum.asked)
			}
		})
	}
}

// patient is a policy by which a folder goes when it is old and empty.
const patientReap = `# METADATA
# title: Old
# description: A folder that is old.
package policies.reap.dirs.old

in_scope if input.dir

findings contains {"rule": "reap.dirs.old", "message": "it is old", "evidence": {}} if input.age >= input.config.grace.dir
`

const patientProtect = `# METADATA
# title: Not empty
# description: A folder that holds something, or may.
package policies.protect.full

objections contains {"rule": "protect.full", "message": "it may hold something", "evidence": {}} if not input.dir.empty
`

func patient(reap string) policy.Tree {
	return policy.Tree{Name: "x", FS: rules.Small(map[string]string{"reap/dirs/old/old.rego": reap, "protect/full/full.rego": patientProtect}), Prefix: "p"}
}

// oldFolder is a world of one folder, as a look that much later sees it.
func oldFolder(age time.Duration, empty *bool) *snapshot.Snapshot {
	return &snapshot.Snapshot{
		Schema: snapshot.Schema, TakenAt: now.Add(age), Sources: map[string]snapshot.Source{"dirs//w": {Kind: "dirs", Status: snapshot.OK}},
		Dirs: map[string]snapshot.Dir{"dir:/w/a": {Source: "dirs//w", Name: "a", Path: "/w/a", ModifiedAt: new(now), Empty: empty}},
	}
}

// TestWhatStands of what was said, and of what the policies are asked again.
func TestWhatStands(t *testing.T) {
	t.Parallel()
	tree := patient(patientReap)
	longer, leveled := config(), config()
	longer.Grace.Dir = 5000
	leveled.Levels = []subject.RuleLevel{{Rule: "protect.full", Kind: "dir", Level: "off"}}
	steps := []struct {
		what    string
		age     time.Duration
		empty   *bool
		config  *subject.Config
		kept    bool
		verdict string
		finds   int
	}{
		{what: "the first time", age: 100 * time.Second, empty: new(false), verdict: "spare"},
		{what: "older, and the wait has not passed", age: 200 * time.Second, empty: new(false), kept: true, verdict: "spare"},
		{what: "the wait has passed", age: 900 * time.Second, empty: new(false), verdict: "spare", finds: 1},
		{what: "just as old as the wait", age: 900 * time.Second, empty: new(false), kept: true, verdict: "spare", finds: 1},
		{what: "older than the wait", age: 1000 * time.Second, empty: new(false), verdict: "spare", finds: 1},
		{what: "older still", age: 2000 * time.Second, empty: new(false), kept: true, verdict: "spare", finds: 1},
		{what: "nothing keeps it any more", age: 2100 * time.Second, empty: new(true), verdict: "reap", finds: 1},
		{what: "what may go is asked each time", age: 2100 * time.Second, empty: new(true), verdict: "reap", finds: 1},
		{what: "the fact is missing", age: 2200 * time.Second, verdict: "spare", finds: 1},
		{what: "and stays so", age: 2300 * time.Second, kept: true, verdict: "spare", finds: 1},
		{what: "the clock went back", age: 300 * time.Second, verdict: "spare"},
		{what: "younger than the machine's clock", age: -5 * time.Second, kept: true, verdict: "spare"},
		{what: "old again", age: 2000 * time.Second, verdict: "spare", finds: 1},
		{what: "the configuration says another wait", age: 2000 * time.Second, config: longer, verdict: "spare"},
		{what: "the wait of before", age: 2000 * time.Second, empty: new(false), verdict: "spare", finds: 1},
		{what: "and it stands", age: 2001 * time.Second, empty: new(false), kept: true, verdict: "spare", finds: 1},
		{what: "a rule that objected has a level, and nothing else changed", age: 2002 * time.Second, empty: new(false), config: leveled, verdict: "reap", finds: 1},
		{what: "a rule has a level", age: 2000 * time.Second, config: leveled, verdict: "reap", finds: 1},
		{what: "and is asked each time", age: 2000 * time.Second, config: leveled, verdict: "reap", finds: 1},
	}
	for name, e := range map[string]*eval.Engine{"here": ready(t, load(t, tree), eval.Limits{}), "apart": apart(t, eval.Limits{}, tree)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := e.Memory()
			for _, s := range steps {
				c := s.config
				if c == nil {
					c = config()
				}
				m.Begin(false)
				r, err := m.Decide(t.Context(), oldFolder(s.age, s.empty), c)
				if err != nil || len(r.Decisions) != 1 || len(r.Errors) > 0 {
					t.Fatalf("%s: %v %+v", s.what, err, r)
				}
				d := r.Decisions[0]
				if d.Verdict != s.verdict || len(d.Findings) != s.finds {
					t.Errorf("%s: %s, %v", s.what, d.Verdict, d.Findings)
				}
				if d.Age == nil || *d.Age != s.age.Seconds() {
					t.Errorf("%s: the decision has an old age, %v", s.what, d.Age)
				}
				if recall := m.Recall(); (recall.Kept == 1) != s.kept || recall.Asked+recall.Kept != 1 {
					t.Errorf("%s: %+v", s.what, recall)
				}
			}
		})
	}
}

// TestAMemoryThatIsWrongShows where all are asked of: here one that was made by other rules.
func TestAMemoryThatIsWrongShows(t *testing.T) {
	t.Parallel()
	e := ready(t, load(t, patient(patientReap)), eval.Limits{})
	other := ready(t, load(t, patient(strings.Replace(patientReap, "config.grace.dir", "config.grace.dir + 500", 1))), eval.Limits{})
	m := other.Memory()
	decide := func(age time.Duration, all bool) eval.Recall {
		t.Helper()
		m.Begin(all)
		if _, err := m.Decide(t.Context(), oldFolder(age, new(false)), config()); err != nil {
			t.Fatal(err)
		}
		return m.Recall()
	}
	decide(1000*time.Second, false)
	if r := decide(1001*time.Second, true); r.Asked != 1 || r.Kept != 0 || len(r.Otherwise) != 0 {
		t.Errorf("one that is right: %+v", r)
	}
	m.Use(e)
	if r := decide(1002*time.Second, false); r.Kept != 1 || len(r.Otherwise) != 0 {
		t.Errorf("where not all are asked: %+v", r)
	}
	if r := decide(1003*time.Second, true); r.Asked != 1 || !slices.Equal(r.Otherwise, []string{"dir:/w/a"}) {
		t.Errorf("one that is wrong: %+v", r)
	}
	if r := decide(1004*time.Second, true); len(r.Otherwise) != 0 {
		t.Errorf("one that learned: %+v", r)
	}
}
