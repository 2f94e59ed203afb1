package explain

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// maxFact is how many bytes of one fact are shown.
const maxFact = 1 << 10

// The sources of facts that no source of a snapshot gives.
const (
	// FromConfig is a parameter.
	FromConfig = "config"
	// FromLook is what the look itself asked of the machine, or is told by the command that asked for it.
	FromLook = "look"
	// FromPolicies is what a tree of policies brings besides its rules: its exceptions.
	FromPolicies = "policies"
)

// facts are what a rule that fired rests on: what it and the rules that it asks read of the subject, sorted. What is only there for candidates of
// other kinds is left out.
func (x explainer) facts(r *ast.Rule) []Fact {
	f := x.found()
	f.head(r.Head, followed)
	f.walk(r.Body, followed)
	var out []Fact
	seen := map[string]bool{}
	for _, key := range f.order {
		path := f.refs[key].GroundPrefix()
		name := written(path)
		if len(path) < 2 || seen[name] || path.Equal(kind) || x.foreign(path) {
			continue
		}
		seen[name] = true
		one := Fact{Fact: name, Source: sourceOf(x.in, path), AsOf: asOf(x.in, path)}
		one.Value, one.Unknown = shownFact(x.in, path)
		out = append(out, one)
	}
	// What is said in parts is not said as a whole too.
	all := slices.Clone(out)
	out = slices.DeleteFunc(out, func(f Fact) bool {
		return slices.ContainsFunc(all, func(part Fact) bool { return strings.HasPrefix(part.Fact, f.Fact+".") })
	})
	slices.SortFunc(out, func(a, b Fact) int { return cmp.Compare(a.Fact, b.Fact) })
	return out
}

// foreign reports whether a path leads to a candidate of another kind, which no subject of this one has.
func (x explainer) foreign(path ast.Ref) bool {
	word, _ := path[1].Value.(ast.String)
	_, err := x.in.Find(path[1:2])
	return err != nil && slices.Contains(snapshot.KindNames(), string(word))
}

// sourceOf names the source that a fact comes from, by where it stands in the subject.
func sourceOf(in ast.Value, path ast.Ref) string {
	if len(path) < 2 {
		return ""
	}
	word := func(i int) string {
		if i >= len(path) {
			return ""
		}
		s, _ := path[i].Value.(ast.String)
		return string(s)
	}
	switch first := word(1); first {
	case "config":
		return FromConfig
	case "exceptions":
		return FromPolicies
	case "host", "now", "asked", "kind", "schema":
		return FromLook
	case "hold", "sighting", "owner_seen":
		return snapshot.Ledger
	case "projects":
		return snapshot.Projects
	case "lineage", "members", "shells", "holders", "process", "busy":
		return snapshot.Proc
	case "evidence_sources":
		return word(2)
	case "entries", "spawns":
		return recordsOf(in, first, path)
	}
	for i := range path {
		if slices.Contains(inProc, word(i)) {
			return snapshot.Proc
		}
	}
	return text(in, "source", "name")
}

// inProc are the facts about panes, terminals and folders that the reader of processes gives.
var inProc = []string{"session_pids", "descendants", "carriers", "linked", "below", "holders", "holders_known", "foreground", "interactive", "rest"}

// recordsOf names the source of a record, or of all records of a kind, each once.
func recordsOf(in ast.Value, list string, path ast.Ref) string {
	all, err := in.Find(path[1:2])
	records, ok := all.(*ast.Array)
	if err != nil || !ok {
		return list
	}
	var names []string
	for i := range records.Len() {
		if len(path) > 2 && !path[2].Equal(ast.IntNumberTerm(i)) {
			continue
		}
		if name := text(records.Elem(i).Value, "source"); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return list
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// text is a text of a document, empty when it is missing.
func text(in ast.Value, path ...string) string {
	var ref ast.Ref
	for _, name := range path {
		ref = append(ref, ast.StringTerm(name))
	}
	v, _ := in.Find(ref)
	s, _ := v.(ast.String)
	return string(s)
}

// asOf is when a fact was read: with the look, or when the earlier look was that remembered it. Nil for a parameter.
func asOf(in ast.Value, path ast.Ref) *time.Time {
	at, err := time.Parse(time.RFC3339Nano, text(in, "now"))
	if err != nil || path.HasPrefix(configRef) {
		return nil
	}
	since := path[1:2]
	switch {
	case path.HasPrefix(sightingRef):
		since = ast.Ref{sightingRef[1], ast.StringTerm("last")}
	case !path.HasPrefix(ownerSeenRef):
		return &at
	}
	v, _ := in.Find(since)
	n, _ := v.(ast.Number)
	if f, ok := n.Float64(); ok {
		at = at.Add(-time.Duration(f * float64(time.Second)))
	}
	return &at
}

var ownerSeenRef = ast.MustParseRef("input.owner_seen")

// Trace notes of one evaluation which rules held, and of each that did not the condition that it got furthest to.
type Trace struct {
	query map[uint64]*ast.Rule
	held  map[*ast.Rule]bool
	gave  map[*ast.Rule][]ast.Value // the reasons that a rule added to its set
	far   map[*ast.Rule]*stop
}

// stop is a condition that did not hold, with the values of its operands.
type stop struct {
	expr     *ast.Expr
	operands []operand
}

// operand is one side of a condition: the reference into the input that it is, if it is one, and its value, nil for one that is
// missing.
type operand struct {
	ref   ast.Ref
	value ast.Value
}

// NewTrace is for one evaluation.
func NewTrace() *Trace {
	return &Trace{
		query: map[uint64]*ast.Rule{}, held: map[*ast.Rule]bool{}, gave: map[*ast.Rule][]ast.Value{}, far: map[*ast.Rule]*stop{},
	}
}

// Enabled is part of topdown.QueryTracer.
func (t *Trace) Enabled() bool { return true }

// Config is part of topdown.QueryTracer. Variables are looked up where they are needed, not copied for every event.
func (t *Trace) Config() topdown.TraceConfig { return topdown.TraceConfig{PlugLocalVars: false} }

// TraceEvent is part of topdown.QueryTracer.
func (t *Trace) TraceEvent(ev topdown.Event) {
	switch ev.Op {
	case topdown.EnterOp:
		if r, ok := ev.Node.(*ast.Rule); ok {
			t.query[ev.QueryID] = r
		}
	case topdown.ExitOp:
		if r, ok := ev.Node.(*ast.Rule); ok {
			t.held[r] = true
			if r.Head.Key != nil && (r.Head.Name == policy.FindingsRule || r.Head.Name == policy.ObjectionsRule) {
				t.gave[r] = append(t.gave[r], ev.Plug(r.Head.Key).Value)
			}
		}
	case topdown.FailOp:
		t.fail(&ev)
	}
}

// fail keeps the condition when it is further down its rule than the one before. Conditions inside a comprehension or a block
// have queries of their own and belong to no rule.
func (t *Trace) fail(ev *topdown.Event) {
	e, ok := ev.Node.(*ast.Expr)
	r := t.query[ev.QueryID]
	if !ok || r == nil || t.far[r] != nil && t.far[r].expr.Index >= e.Index {
		return
	}
	s := &stop{expr: e}
	terms := e.Operands()
	if single, ok := e.Terms.(*ast.Term); ok {
		terms = []*ast.Term{single}
	}
	for _, o := range terms {
		if v, ok := valueOf(ev, o); ok {
			if v.ref == nil {
				v.ref = assigned(r.Body, o)
			}
			s.operands = append(s.operands, v)
		}
	}
	t.far[r] = s
}

// valueOf is what an operand was; nothing for a constant, which is in the text, and for a variable that has no value yet.
func valueOf(ev *topdown.Event, o *ast.Term) (operand, bool) {
	switch o.Value.(type) {
	case ast.Ref, ast.Var:
	default:
		return operand{}, false
	}
	switch v := ev.Plug(o).Value.(type) {
	case ast.Ref:
		if !v.HasPrefix(ast.InputRootRef) {
			return operand{}, false
		}
		found, _ := ev.Input().Value.Find(v[1:]) // nil where it is absent, or behind a variable that was tried with everything
		return operand{ref: v, value: found}, true
	case ast.Var:
		return operand{}, false
	default:
		return operand{value: v}, true
	}
}

// assigned is the reference into the input that the compiler put into a variable, to compare that instead.
func assigned(b ast.Body, o *ast.Term) ast.Ref {
	for _, e := range b {
		if !e.IsEquality() || !e.Operand(0).Equal(o) {
			continue
		}
		if ref, ok := e.Operand(1).Value.(ast.Ref); ok && ref.HasPrefix(ast.InputRootRef) {
			return ref
		}
	}
	return nil
}

// written is a reference as a person writes it, with _ for the names that the compiler gave to variables.
func written(r ast.Ref) string {
	if r == nil {
		return ""
	}
	out := slices.Clone(r)
	for i, t := range out {
		if v, ok := t.Value.(ast.Var); ok && i > 0 && v.IsGenerated() {
			out[i] = ast.VarTerm("_")
		}
	}
	return out.String()
}
