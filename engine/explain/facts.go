package explain

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/policies/schemas"
)

// The bounds of what is tried for one rule: how far the rules that it asks are followed, how many facts, values of each, and members of a
// list or an object.
const (
	followed   = 6
	maxFacts   = 40
	maxValues  = 9
	maxMembers = 4
	nested     = 4
)

// fixed are parts of a subject that say which thing it is and what was configured, and no fact that could be otherwise.
var fixed = []string{"schema", "kind", "now", "config", "asked", "worker", "identity"}

// naming are the fields that name a thing.
var naming = []string{"id", "name", "label", "path", "root", "main", "common_dir", "admin_dir", "pid", "start_ticks", "source"}

// rulesOf are a package's rules of that name.
func (x explainer) rulesOf(p policy.Package, set string) []*ast.Rule {
	return x.policy.Compiler().GetRulesExact(p.Ref.Append(ast.StringTerm(set)))
}

// blocking are the rules that stand between what stays and its going: those of findings where no finding counts, else those of the package
// that objects.
func (x explainer) blocking(kind, blocker string) (out []*ast.Rule) {
	if blocker == noFinding {
		for _, p := range x.policy.Reap(kind) {
			out = append(append(out, x.rulesOf(p, policy.ScopeRule)...), x.rulesOf(p, policy.FindingsRule)...)
		}
		return out
	}
	for _, p := range x.policy.Protect() {
		if p.ID == blocker {
			out = append(out, x.rulesOf(p, policy.ObjectionsRule)...)
		}
	}
	return out
}

// noFinding is the blocker of what stays for want of a reason to reap it.
const noFinding = ""

// reached says how far the rules are that would have to hold for a blocker to go: those of findings, or what an objection asks for. The
// further each got, the higher.
func (x explainer) reached(kind, blocker string) (n int) {
	seen := map[*ast.Rule]bool{}
	var count func(r *ast.Rule, left int)
	count = func(r *ast.Rule, left int) {
		if seen[r] || left == 0 {
			return
		}
		seen[r] = true
		switch s := x.trace.far[r]; {
		case x.held(r):
			n += 2 * (len(r.Body) + 1)
		case s != nil:
			n += s.expr.Index + 1
		}
		ast.WalkRefs(r.Body, func(ref ast.Ref) bool {
			for _, asked := range x.rules(ref) {
				count(asked, left-1)
			}
			return false
		})
	}
	for _, r := range x.blocking(kind, blocker) {
		if blocker == noFinding {
			count(r, followed)
			continue
		}
		if x.held(r) {
			for _, asked := range x.negated(r.Body) {
				count(asked, followed)
			}
		}
	}
	return n
}

// changes are what may be tried against a blocker, the most likely first: the facts of the conditions at which rules came to their end, and then
// all others that these rules rest on.
func (x explainer) changes(kind, blocker string, findings []string) []change {
	g := &gatherer{explainer: x, findings: findings, seen: map[string]bool{}}
	for _, r := range x.blocking(kind, blocker) {
		if blocker == noFinding {
			g.ends(r, followed)
		} else if x.held(r) {
			for _, asked := range x.negated(r.Body) {
				g.ends(asked, followed)
			}
			for _, e := range r.Body {
				g.expr(r, e, nil)
			}
		}
	}
	slices.SortStableFunc(g.out, func(a, b change) int { return cmp.Compare(a.made(), b.made()) })
	return g.out
}

// made ranks changes by how much they make up at once: nothing but one fact; an earlier look, the shortest wait first; a pane in which only its shell
// runs; a pane that is not there.
func (c change) made() float64 {
	o, object := c.to.(ast.Object)
	switch pane := len(c.path) == paneDepth+1 && c.path[2].Equal(ast.StringTerm("panes")); {
	case pane && c.to == nil:
		return math.Inf(1)
	case pane && object:
		return math.MaxFloat64
	case !object || !c.path.Equal(sightingRef):
		return -1
	}
	n, _ := o.Get(ast.StringTerm("first")).Value.(ast.Number)
	f, _ := n.Float64()
	return f
}

// paneDepth is where the number of a pane stands in input.tab.panes[0] and input.session.panes[0].
const paneDepth = 3

// longRest is longer than any rule waits for a shell to have done nothing: a year, in seconds.
const longRest = 365 * 24 * 60 * 60

// idlePane adds that nothing but its own interactive shell ran in a pane. It is one fact for a person, and six in the document. A pane without a
// known shell has none.
func (g *gatherer) idlePane(path ast.Ref) {
	v, err := g.in.Find(path[1:])
	was, ok := v.(ast.Object)
	if err != nil || !ok {
		return
	}
	shell := was.Get(ast.StringTerm("shell_pid"))
	if shell == nil {
		return
	}
	name := ast.StringTerm("sh")
	if members := was.Get(ast.StringTerm("session")); members != nil {
		if list, ok := members.Value.(*ast.Array); ok {
			list.Foreach(func(t *ast.Term) {
				m, ok := t.Value.(ast.Object)
				if ok && shell.Equal(m.Get(ast.StringTerm("pid"))) && g.shell(m.Get(ast.StringTerm("name"))) {
					name = m.Get(ast.StringTerm("name"))
				}
			})
		}
	}
	only := func(more ...[2]*ast.Term) *ast.Term {
		return ast.ArrayTerm(ast.ObjectTerm(append(more, ast.Item(ast.StringTerm("pid"), shell), ast.Item(ast.StringTerm("name"), name))...))
	}
	rest := ast.ObjectTerm(ast.Item(ast.StringTerm("seconds"), ast.IntNumberTerm(longRest)), ast.Item(ast.StringTerm("woke"), ast.BooleanTerm(false)))
	now := map[string]*ast.Term{
		"dead": ast.BooleanTerm(false), "foreground_pgid": shell, "foreground": only(),
		"session":      only(ast.Item(ast.StringTerm("interactive"), ast.BooleanTerm(true)), ast.Item(ast.StringTerm("rest"), rest)),
		"session_pids": ast.ArrayTerm(shell), "descendants": ast.ArrayTerm(), "carriers": ast.ArrayTerm(), "linked": ast.ArrayTerm(),
	}
	to := ast.NewObject()
	was.Foreach(func(k, t *ast.Term) { to.Insert(k, t) })
	for k, t := range now {
		to.Insert(ast.StringTerm(k), t)
	}
	if to.Compare(was) != 0 {
		g.add(change{path: slices.Clone(path), to: to})
	}
}

// shell reports whether a name is one of the configured shells.
func (g *gatherer) shell(name *ast.Term) bool {
	v, _ := g.in.Find(ast.Ref{ast.StringTerm("config"), ast.StringTerm("shells")})
	list, ok := v.(*ast.Array)
	return ok && name != nil && list.Until(name.Equal)
}

// objectors are the changes that might take away what was found, or make something object.
func (x explainer) objectors(kind string) []change {
	g := &gatherer{explainer: x, seen: map[string]bool{}}
	for _, p := range x.policy.Reap(kind) {
		for _, r := range x.rulesOf(p, policy.FindingsRule) {
			if x.held(r) {
				for _, e := range r.Body {
					g.expr(r, e, nil)
				}
			}
		}
	}
	for _, p := range x.policy.Protect() {
		for _, r := range x.rulesOf(p, policy.ObjectionsRule) {
			if s := x.trace.far[r]; s != nil && !x.otherKind(s) {
				g.expr(r, s.expr, s)
			}
		}
	}
	return g.out
}

// gatherer gathers changes of facts, each once.
type gatherer struct {
	explainer
	// findings are the rules that found something: an earlier look may have found the same.
	findings []string
	out      []change
	seen     map[string]bool
}

// ends gathers the facts of the condition at which a rule came to its end, and of those of the rules that it asks there.
func (g *gatherer) ends(r *ast.Rule, left int) {
	s := g.trace.far[r]
	if s == nil || g.held(r) || g.otherKind(s) || left == 0 {
		return
	}
	if !s.expr.Negated {
		ast.WalkRefs(s.expr, func(ref ast.Ref) bool {
			for _, asked := range g.rules(ref) {
				g.ends(asked, left-1)
			}
			return false
		})
	}
	g.expr(r, s.expr, s)
}

// expr gathers the facts that a condition rests on, with what they might be.
func (g *gatherer) expr(r *ast.Rule, e *ast.Expr, s *stop) {
	f := g.found()
	if s != nil {
		for _, o := range s.operands {
			f.constant(o.value)
		}
	}
	f.condition(r, e)
	order := slices.Clone(f.order)
	f.walk(r.Body, 1) // what else the rule compares with
	for _, key := range f.order {
		v, _ := g.in.Find(f.refs[key].GroundPrefix()[1:])
		f.constant(v)
	}
	var all []ast.Ref
	for _, key := range order {
		all = append(all, g.expand(f.refs[key])...)
	}
	for _, at := range all {
		g.fact(at, f.constants)
	}
	for _, at := range all { // a rule may look into what it was led to by way of a variable
		g.addInner(at, f.constants, nested)
	}
}

// expand is a reference with a path of the document in place of every variable, for the first few members.
func (g *gatherer) expand(ref ast.Ref) []ast.Ref {
	ground := ref.GroundPrefix()
	if len(ground) == len(ref) {
		return []ast.Ref{ref}
	}
	out := []ast.Ref{ground}
	v, _ := g.in.Find(ground[1:])
	for _, key := range keysOf(v) {
		if len(out) <= maxMembers {
			out = append(out, g.expand(append(append(slices.Clone(ground), key), ref[len(ground)+1:]...))...)
		}
	}
	return out
}

// keysOf are the keys of an object, or the numbers of the first few members of a list; nothing of any other value.
func keysOf(v ast.Value) (keys []*ast.Term) {
	switch v := v.(type) {
	case ast.Object:
		keys = v.Keys()
	case *ast.Array:
		for i := range min(v.Len(), maxMembers) {
			keys = append(keys, ast.IntNumberTerm(i))
		}
	}
	return keys
}

// addInner adds the facts inside of a list or an object, and that a member of a list is not there.
func (g *gatherer) addInner(at ast.Ref, constants []ast.Value, left int) {
	v, err := g.in.Find(at[1:])
	if err != nil || left == 0 || len(g.out) > maxFacts*maxValues {
		return
	}
	for _, key := range keysOf(v) {
		inner := append(slices.Clone(at), key)
		g.fact(inner, constants)
		g.addInner(inner, constants, left-1)
	}
}

// fact adds what a fact might be instead.
func (g *gatherer) fact(path ast.Ref, constants []ast.Value) {
	if len(path) < 2 || len(g.out) > maxFacts*maxValues {
		return
	}
	var words []string
	for _, t := range path[1:] {
		if s, ok := t.Value.(ast.String); ok {
			words = append(words, string(s))
		}
	}
	if len(words) == 0 || slices.Contains(fixed, words[0]) || slices.Contains(naming, words[len(words)-1]) {
		return
	}
	if words[0] == "sighting" {
		g.sighting(constants)
		return
	}
	if len(path) > paneDepth && len(words) > 1 && words[1] == "panes" {
		g.idlePane(path[:paneDepth+1])
	}
	was, _ := g.in.Find(path[1:]) // nil where nothing stands there
	sort, format := typeAt(words)
	if was != nil && sort == "" {
		sort = ast.ValueName(was)
	}
	if _, member := path[len(path)-1].Value.(ast.Number); member { // a number or a text of a list: it is in it or not
		sort = ""
	}
	var to []ast.Value
	switch sort {
	case "boolean":
		to = []ast.Value{ast.Boolean(true), ast.Boolean(false)}
	case "number":
		to = numbers(constants, was)
	case "integer":
		to = slices.DeleteFunc(numbers(constants, was), func(v ast.Value) bool {
			_, whole := v.(ast.Number).Int()
			return !whole
		})
	case "string":
		if words[len(words)-1] == "error" { // what an error says is for people
			constants = nil
		}
		to = texts(constants, was, format)
	case "array":
		to = []ast.Value{ast.NewArray()}
	}
	if was != nil {
		to = append(to, nil)
	}
	for _, v := range to {
		if v == nil || was == nil || v.Compare(was) != 0 {
			g.add(change{path: path, to: v})
		}
	}
}

func (g *gatherer) add(c change) {
	if key := c.key(); !g.seen[key] {
		g.seen[key] = true
		g.out = append(g.out, c)
	}
}

// sighting adds that an earlier look found the same, so long ago as some rule compares with; of a process also that it has done nothing since.
// It is one fact: a person cannot read its parts, and a reason of one look is no proof at another one. Where the earlier look did find the
// same, its times are the facts.
func (g *gatherer) sighting(constants []ast.Value) {
	identity, err := g.in.Find(ast.Ref{ast.StringTerm("identity")})
	if err != nil {
		return
	}
	had := func(name string) ast.Value {
		v, err := g.in.Find(ast.Ref{sightingRef[1], ast.StringTerm(name)})
		if err != nil {
			return ast.Null{}
		}
		return v
	}
	times := numbers(constants, ast.Number("0"))
	rule, same := had("rule").(ast.String)
	if same && slices.Contains(g.findings, string(rule)) && had("identity").Compare(identity) == 0 {
		for _, name := range []string{"first", "idle"} {
			for _, n := range times {
				if had(name).Compare(n) < 0 {
					g.add(change{path: append(slices.Clone(sightingRef), ast.StringTerm(name)), to: n})
				}
			}
		}
	}
	kind, _ := g.in.Find(ast.Ref{ast.StringTerm("kind")})
	for _, rule := range slices.Compact(slices.Clone(g.findings)) {
		for _, n := range times {
			o := ast.NewObject(ast.Item(ast.StringTerm("rule"), ast.StringTerm(rule)), ast.Item(ast.StringTerm("identity"), ast.NewTerm(identity)),
				ast.Item(ast.StringTerm("first"), ast.NewTerm(n)), ast.Item(ast.StringTerm("last"), ast.NewTerm(n)), ast.Item(ast.StringTerm("count"), ast.IntNumberTerm(1)))
			if kind != nil && kind.Compare(ast.String(snapshot.KindProcess)) == 0 {
				o.Insert(ast.StringTerm("idle"), ast.NewTerm(n))
			}
			g.add(change{path: sightingRef, to: o})
		}
	}
}

// numbers are what a number might be: what rules compare with, and one more or less, the nearest to what it is first; and 0.
func numbers(constants []ast.Value, was ast.Value) (to []ast.Value) {
	for _, c := range constants {
		n, ok := c.(ast.Number)
		if !ok {
			continue
		}
		to = append(to, n)
		if i, whole := n.Int(); whole {
			to = append(to, ast.IntNumberTerm(i+1).Value, ast.IntNumberTerm(max(0, i-1)).Value)
		}
	}
	now := 0.0
	if n, ok := was.(ast.Number); ok {
		now, _ = n.Float64()
	}
	slices.SortStableFunc(to, func(a, b ast.Value) int { return cmp.Compare(distance(a, now), distance(b, now)) })
	to = slices.CompactFunc(to, func(a, b ast.Value) bool { return a.Compare(b) == 0 })
	return append(to[:min(len(to), 3*maxValues)], ast.Number("0"))
}

func distance(v ast.Value, from float64) float64 {
	n, _ := v.(ast.Number)
	f, _ := n.Float64()
	return math.Abs(f - from)
}

// texts are what a text might be: what rules compare with, and empty; a path that it does not lie in, where it is a path. A time has no other.
func texts(constants []ast.Value, was ast.Value, format string) (to []ast.Value) {
	if format != "" {
		return nil
	}
	for _, c := range constants {
		if s, ok := c.(ast.String); ok && !slices.Contains(snapshot.KindNames(), string(s)) { // kinds are compared with in many rules
			to = append(to, s)
		}
	}
	none := ast.String("")
	if s, ok := was.(ast.String); ok && strings.HasPrefix(string(s), "/") {
		none = "/"
	}
	return append(to[:min(len(to), maxValues)], none)
}

// found is what a condition rests on: references into the input, and the constants that it compares with.
type found struct {
	explainer
	rules     map[*ast.Rule]bool
	vars      map[ast.Var]bool
	refs      map[string]ast.Ref
	order     []string
	constants []ast.Value
}

func (x explainer) found() *found {
	return &found{explainer: x, rules: map[*ast.Rule]bool{}, refs: map[string]ast.Ref{}, vars: map[ast.Var]bool{}}
}

// condition gathers what an expression of a rule names itself, by way of the rule's variables, and by way of the rules that it asks.
func (f *found) condition(r *ast.Rule, e *ast.Expr) {
	f.walk(e, followed)
	ast.WalkVars(e, func(v ast.Var) bool {
		f.variable(r, v)
		return false
	})
}

// variable follows a variable to the expressions of its rule that give it a value.
func (f *found) variable(r *ast.Rule, v ast.Var) {
	if f.vars[v] || v.Equal(ast.InputRootDocument.Value) || v.Equal(ast.DefaultRootDocument.Value) {
		return
	}
	f.vars[v] = true
	for _, e := range r.Body {
		if gives(e, v) {
			f.condition(r, e)
		}
	}
}

// gives reports whether an expression can give a variable its value: an equality, the last operand of a call, and a member of what a reference
// leads to.
func gives(e *ast.Expr, v ast.Var) bool {
	is := func(t *ast.Term) bool { return t.Value.Compare(v) == 0 }
	if t, ok := e.Terms.(*ast.Term); ok {
		ref, ok := t.Value.(ast.Ref)
		return ok && slices.ContainsFunc(ref, is)
	}
	n := len(e.Operands())
	return e.IsEquality() && slices.ContainsFunc(e.Operands(), is) || e.IsCall() && n > 0 && is(e.Operand(n-1))
}

func (f *found) walk(node any, left int) {
	ast.WalkTerms(node, func(t *ast.Term) bool {
		switch v := t.Value.(type) {
		case ast.Ref:
			f.ref(v, left)
			return true // the names in it are no constants
		case ast.Number, ast.String, ast.Boolean:
			f.constant(v)
		}
		return false
	})
}

// head gathers what a rule's head compares with or gives. The names in an object that it gives are no constants.
func (f *found) head(h *ast.Head, left int) {
	for _, a := range h.Args {
		f.walk(a, left)
	}
	for _, t := range []*ast.Term{h.Key, h.Value} {
		if t == nil {
			continue
		}
		if o, ok := t.Value.(ast.Object); ok {
			o.Foreach(func(_, v *ast.Term) { f.walk(v, left) })
		} else {
			f.walk(t, left)
		}
	}
}

func (f *found) ref(ref ast.Ref, left int) {
	switch {
	case ref.HasPrefix(configRef):
		if v, err := f.in.Find(ref.GroundPrefix()[1:]); err == nil {
			f.constant(v)
			if o, ok := v.(ast.Object); ok && o.Len() <= 8 { // such as grace, by kind
				o.Foreach(func(_, t *ast.Term) { f.constant(t.Value) })
			}
		}
	case ref.HasPrefix(ast.InputRootRef):
		key := ref.String()
		if _, ok := f.refs[key]; !ok && len(f.refs) < maxFacts {
			f.refs[key] = ref
			f.order = append(f.order, key)
		}
	case ref.HasPrefix(ast.DefaultRootRef) && left > 0:
		for _, r := range f.explainer.rules(ref) {
			if !f.rules[r] {
				f.rules[r] = true
				f.head(r.Head, left-1)
				f.walk(r.Body, left-1)
			}
		}
	}
}

var configRef = ast.MustParseRef("input.config")

func (f *found) constant(v ast.Value) {
	switch v.(type) {
	case ast.Number, ast.String:
		if !slices.ContainsFunc(f.constants, func(c ast.Value) bool { return c.Compare(v) == 0 }) {
			f.constants = append(f.constants, v)
		}
	}
}

// typeAt is the type that the subject's schema gives to a path, and the format of its texts; empty for one that it does not have.
func typeAt(path []string) (sort, format string) {
	at := shape()
	for _, name := range path {
		if at.Items != nil {
			at = *at.Items
		}
		next, ok := at.Properties[name]
		if !ok {
			return "", ""
		}
		at = next
	}
	return at.Type, at.Format
}

// schema is as much of a JSON schema as says which field has which type.
type schema struct {
	Type       string            `json:"type"`
	Format     string            `json:"format"`
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
}

var shape = sync.OnceValue(func() (s schema) {
	if err := json.Unmarshal(schemas.Subject, &s); err != nil {
		return schema{}
	}
	return s
})
