package plan_test

import (
	"encoding/json"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// reading are rules with what they read of the subject that sample(0) is: fields of which the value counts, of which only counts whether there is something, and numbers that were only
// compared.
var reading = map[string]struct {
	rules                string
	whole, there, within []string
}{
	"an age that has passed a wait":       {rules: `x if input.age >= input.config.grace.dir`, whole: []string{"config.grace.dir"}, there: []string{"config", "config.grace"}, within: []string{"age"}},
	"an age that has not":                 {rules: `x if input.age < 10`, within: []string{"age"}},
	"an age that is said":                 {rules: `x := $"{input.age}"`, whole: []string{"age"}},
	"an age that is given":                {rules: `x := input.age`, whole: []string{"age"}},
	"an age in a list":                    {rules: `x := [input.age]`, whole: []string{"age"}},
	"an age in an object":                 {rules: `x := {"age": input.age}`, whole: []string{"age"}},
	"an age that is added to":             {rules: `x if input.age + 5 > 100`, whole: []string{"age"}},
	"an age that has to be one":           {rules: `x if input.age == 100`, whole: []string{"age"}},
	"an age that was compared and said":   {rules: "old if input.age > 10\nx := $\"{input.age}\" if old", whole: []string{"age"}},
	"an age by another name":              {rules: "a := input.age\nx if a > 10", within: []string{"age"}},
	"an age that a function gets":         {rules: "old(a) if a > 10\nx if old(input.age)", within: []string{"age"}},
	"an age that a function says":         {rules: "said(a) := $\"{a}\"\nx := said(input.age)", whole: []string{"age"}},
	"an age that a function gives back":   {rules: "same(a) := a\nx if same(input.age) > 10", within: []string{"age"}},
	"one age compared with another":       {rules: `x if input.age > input.idle`, whole: []string{"age", "idle"}},
	"an age that is not there":            {rules: `x if not input.made`, whole: []string{"made"}},
	"an age as a key":                     {rules: `x := {"100": 1}[$"{input.age}"]`, whole: []string{"age"}},
	"a text":                              {rules: `x if input.label == "web"`, whole: []string{"label"}},
	"what a source says":                  {rules: `x if input.evidence_sources.proc == "ok"`, whole: []string{"evidence_sources"}, there: []string{"evidence_sources"}},
	"whether a source says something":     {rules: `x if input.evidence_sources.proc`, whole: []string{"evidence_sources"}, there: []string{"evidence_sources"}},
	"members of a list":                   {rules: `x contains m.name if some m in input.members`, whole: []string{"members"}},
	"a part":                              {rules: `x if input.dir.empty`, whole: []string{"dir.empty"}, there: []string{"dir"}},
	"a part of what is missing":           {rules: `x if input.process.name`, there: []string{"process"}},
	"a number of the machine":             {rules: `x if input.host.steady > 30`, there: []string{"host"}, within: []string{"host.steady"}},
	"a number of the machine, on its way": {rules: "s := input.host.steady\nx := s + input.age", whole: []string{"host.steady", "age"}, there: []string{"host"}},
	"a number of the machine, later said": {rules: "s if input.host.steady > 30\nx := $\"{input.host.steady}\" if s", whole: []string{"host.steady"}, there: []string{"host"}},
	"a part by a variable":                {rules: `x := [v | some k in ["dir", "session"]; v := input.config.grace[k]]`, whole: []string{"config.grace"}, there: []string{"config"}},
	"two spans":                           {rules: "x contains 1 if input.age > 10\nx contains 2 if input.age < 200\nx contains 3 if input.idle <= 30", within: []string{"age", "idle"}},
	"a rule that is asked twice":          {rules: "old if input.age > 10\nx contains 1 if old\nx contains 2 if { old; input.label == \"web\" }", whole: []string{"label"}, within: []string{"age"}},
}

// sample is a subject of a world with few values, so that two are often alike.
func sample(r *rand.Rand) *subject.Subject {
	some := func(values ...float64) *float64 {
		if r == nil {
			return &values[0]
		}
		if r.IntN(8) == 0 {
			return nil
		}
		return new(values[r.IntN(len(values))])
	}
	text := func(values ...string) string {
		if r == nil {
			return values[0]
		}
		return values[r.IntN(len(values))]
	}
	wait := some(50, 99)
	if wait == nil {
		wait = new(7.0)
	}
	s := &subject.Subject{
		Schema: subject.Schema, ID: "dir:/w/a", Kind: "dir", Label: text("web", "db"), Age: some(100, 99, 5, 500), Idle: some(20, 19, 21, 100),
		EvidenceSources: map[string]string{"proc": text("ok", "failed"), "ledger": text("ok", "failed")}, Host: subject.Host{Steady: some(60, 61, 10), BootID: "b"},
		Config: &subject.Config{Grace: subject.Grace{Dir: *wait, Session: 5}}, Members: []subject.Member{{}},
	}
	s.Members[0].Name = text("claude", "codex")
	s.Dir = &snapshot.Dir{Path: "/w/a", Name: text("a", "b"), Empty: new(text("yes", "no") == "yes")}
	if r != nil && r.IntN(6) == 0 {
		s.Members, s.Made = nil, new(1.0)
	}
	if r != nil && r.IntN(6) == 0 {
		s.Dir, s.Process = nil, &snapshot.Process{Name: text("x", "y")}
	}
	return s
}

// asking is one of reading, ready to be asked.
type asking struct {
	program *plan.Program
	rule    *plan.Rule
}

func prepared(t testing.TB, body string) asking {
	t.Helper()
	ref := ast.MustParseRef("data.t.x")
	planned, err := plan.Of(t.Context(), ast.MustCompileModules(map[string]string{"t.rego": "package t\n\n" + body + "\n"}), []ast.Ref{ref})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(planned)
	if err != nil {
		t.Fatal(err)
	}
	rule := p.Rule(ref)
	p.Prepare(rule)
	return asking{p, rule}
}

func (a asking) machine() *plan.Machine {
	m := a.program.Machine()
	m.Track(a.program)
	return m
}

// ask gives what a rule says of the subject or document that a machine was given.
func (a asking) ask(t testing.TB, m *plan.Machine) string {
	t.Helper()
	out, err := m.Ask(topdown.NewCancel(), a.rule)
	switch {
	case err != nil:
		return "error"
	case out == nil:
		return "undefined"
	default:
		return out.String()
	}
}

// TestReads says what rules read: by a subject, and by its document.
func TestReads(t *testing.T) {
	t.Parallel()
	for name, c := range reading {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, one := prepared(t, c.rules), sample(nil)
			m := a.machine()
			m.Subject(one, plan.NewDesk(nil))
			if said := a.ask(t, m); said == "error" {
				t.Fatal("the rule gives an error")
			}
			check := func(what string) {
				t.Helper()
				r, spans, ok := m.Reads()
				if !ok {
					t.Fatalf("%s: it is not known what was read", what)
				}
				if diff := cmp.Diff([][]string{c.whole, c.there, c.within}, [][]string{names(r.Whole), names(r.There), names(r.Within)}); diff != "" {
					t.Errorf("%s (-want +have):\n%s", what, diff)
				}
				if len(spans) != len(c.within) {
					t.Errorf("%s: %d spans of %d numbers", what, len(spans), len(c.within))
				}
			}
			check("a subject")
			m.Document(plan.NewDesk(nil).Document(one))
			a.ask(t, m)
			check("a document")
		})
	}
}

func names(fs []*plan.Field) (out []string) {
	for _, f := range fs {
		out = append(out, f.Name())
	}
	return out
}

// TestReadsOfTheWholeInput: of a rule that gets all of it, it is not said what it read.
func TestReadsOfTheWholeInput(t *testing.T) {
	t.Parallel()
	for _, rules := range []string{`x := input`, `x := [k | some k, _ in input]`, `x := [v | some k in ["age", "idle"]; v := input[k]]`} {
		a := prepared(t, rules)
		m := a.machine()
		m.Subject(sample(nil), plan.NewDesk(nil))
		a.ask(t, m)
		if r, _, ok := m.Reads(); ok {
			t.Errorf("%s: %v", rules, r)
		}
	}
}

// TestWhoAgreesInWhatWasReadGetsTheSameAnswer: whatever a rule says of one subject it says of every other one whose fields are the same as far as it read them.
func TestWhoAgreesInWhatWasReadGetsTheSameAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range reading {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, r, alike, otherwise := prepared(t, c.rules), rand.New(rand.NewPCG(3, 4)), 0, 0
			seed := maphash.MakeSeed()
			for range 40 { // worlds: the subjects of one have the machine in common
				var subjects []*subject.Subject
				for range 6 {
					s := sample(r)
					if len(subjects) > 0 {
						s.Host, s.Config = subjects[0].Host, subjects[0].Config
					}
					subjects = append(subjects, s)
				}
				var reader *plan.Reader
				m, desk := a.machine(), plan.NewDesk(nil)
				for i, s := range subjects {
					m.Subject(s, desk)
					said := a.ask(t, m)
					reads, spans, ok := m.Reads()
					if !ok {
						t.Fatalf("subject %d: it is not known what was read", i)
					}
					reader = plan.NewReader(seed)
					digest := reader.Digest(reads, s)
					if !reader.Within(reads, spans, s) {
						t.Fatalf("subject %d does not agree with itself: %v %v", i, names(reads.Within), spans)
					}
					for range 20 {
						other := sample(r)
						reader := plan.NewReader(seed)
						now := a.program.Machine()
						now.Subject(other, plan.NewDesk(nil))
						same := a.ask(t, now) == said
						if !reader.Within(reads, spans, other) || reader.Digest(reads, other) != digest {
							otherwise++
							continue
						}
						alike++
						if !same {
							t.Fatalf("a rule that read %v, %v and %v in %v says %s of\n%s\nand something else of\n%s", names(reads.Whole), names(reads.There), names(reads.Within), spans, said,
								text(t, s), text(t, other))
						}
					}
				}
			}
			if alike < 100 || otherwise == 0 && !slices.Equal(c.there, []string{"process"}) {
				t.Errorf("%d alike and %d otherwise: the test holds nothing", alike, otherwise)
			}
		})
	}
}

func text(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
