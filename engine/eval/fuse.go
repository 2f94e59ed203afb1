package eval

import (
	"fmt"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"winnow/engine/policy"
	"winnow/engine/snapshot"
)

// fusedPackage holds a package a kind, which has everything that is asked of a candidate of that kind in three rules; restPackage has the same with
// the findings and objections of some rules alone.
const (
	fusedPackage = "winnow_fused"
	restPackage  = "winnow_rest"
)

// fuser rewrites compiled rules so that a candidate is judged with less work and the same answer. What costs is asking for a
// rule by its name: a dozen packages for their sets, and a helper behind almost every condition. So all sets of a kind become
// one, what is written for other kinds is left out, and helpers that are no more than conditions are put where they are asked.
//
// Explanations, and stock OPA, use the rules as they are written; a test holds both to the same answers.
type fuser struct {
	compiler *ast.Compiler
	kind     string
	copies   int
	// left is how many more terms may be copied for the rule at hand, all for the kind. Helpers that ask helpers twice over are
	// copied twice for each: sixteen of them one behind the other are 65,536 copies. What is not copied stays where it is and is
	// asked there, with the same answer.
	left, all int
	// size is how many terms a rule's body has, of those that were counted.
	size map[*ast.Rule]int
}

// maxCopied is how many terms one rule may grow by, maxCopiedAll all rules of a kind: of the shipped ones 546 and 2,173 at most.
const (
	maxCopied    = 20000
	maxCopiedAll = 200000
)

// fuse compiles the fused packages of all kinds, with the modules that they still refer to.
//
// All of them were compiled before, and what is put together from compiled rules is compiled: helpers share no variable with
// where they are put, so that nothing needs rewriting or ordering again. That leaves the stages that index.
//
// With rest, which may be nil, there are also packages for those rules alone that it takes.
func fuse(p *policy.Policy, rest func(kind, rule string) bool) (*ast.Compiler, error) {
	all := map[string]*ast.Module{}
	for pkg, takes := range map[string]func(kind, rule string) bool{fusedPackage: func(string, string) bool { return true }, restPackage: rest} {
		for _, kind := range p.Kinds() {
			if takes == nil {
				continue
			}
			m, err := fuseKind(p, pkg, kind, takes)
			if err != nil {
				return nil, err
			}
			all[m.Package.Location.File] = m
		}
	}
	needed := map[string]bool{}
	for _, m := range slices.Collect(maps.Values(all)) {
		need(p, m, needed)
	}
	for file := range needed {
		all[file] = asksFused(p.Compiler().Modules[file])
	}
	index := []ast.StageID{
		ast.StageInitLocalVarGen, ast.StageSetModuleTree, ast.StageSetRuleTree, ast.StageSetGraph,
		ast.StageBuildRuleIndices, ast.StageBuildComprehensionIndices,
	}
	skip := slices.DeleteFunc(slices.Clone(ast.AllStages()), func(s ast.StageID) bool { return slices.Contains(index, s) })
	c := ast.NewCompiler().WithCapabilities(policy.Capabilities()).WithSkipStages(skip...)
	if c.Compile(all); c.Failed() {
		return nil, c.Errors
	}
	return c, nil
}

func fuseKind(p *policy.Policy, pkg, kind string, takes func(kind, rule string) bool) (*ast.Module, error) {
	k, _ := snapshot.KindOf(kind)
	m, err := ast.ParseModuleWithOpts(pkg+"/"+kind, fmt.Sprintf("package %s.%s", pkg, k.Plural), ast.ParserOptions{})
	if err != nil {
		return nil, err
	}
	f := &fuser{compiler: p.Compiler(), kind: kind, all: maxCopiedAll, size: map[*ast.Rule]int{}}
	for _, r := range p.Reap(kind) {
		m.Rules = append(m.Rules, f.rules(r, policy.ScopeRule)...)
		if takes(kind, r.ID) {
			m.Rules = append(m.Rules, f.rules(r, policy.FindingsRule)...)
		}
	}
	for _, r := range p.Protect() {
		if takes(kind, r.ID) {
			m.Rules = append(m.Rules, f.rules(r, policy.ObjectionsRule)...)
		}
	}
	for _, r := range m.Rules {
		r.Module = m
	}
	return m, nil
}

var (
	kindsFolder   = ast.MustParseRef("data.policies.lib.kinds.folders")
	everyFindings = ast.MustParseRef("data.policies.reap")
)

// asksFused is a module that asks for the fused findings where it asked every package under reap of the candidate's kind for its own
// (data.policies.reap[kinds.plural][_].findings): these were asked already, and would be all over again.
func asksFused(m *ast.Module) *ast.Module {
	folder := holdFolders(m)
	if len(folder) == 0 {
		return m
	}
	m = m.Copy()
	ast.WalkExprs(m, func(e *ast.Expr) bool {
		terms, _ := e.Terms.([]*ast.Term)
		for i, term := range terms {
			if ref, ok := term.Value.(ast.Ref); ok && asksFindings(ref, folder) {
				// A new term: what a copy shares with the module that others read stays as it is.
				terms[i] = ast.NewTerm(slices.Concat(ast.Ref{ast.DefaultRootDocument, ast.StringTerm(fusedPackage), ref[3]}, ref[5:]))
			}
		}
		return false
	})
	return m
}

// holdFolders are the variables of a module that hold the folder of the candidate's kind's rules.
func holdFolders(m *ast.Module) map[ast.Var]bool {
	out := map[ast.Var]bool{}
	ast.WalkExprs(m, func(e *ast.Expr) bool {
		if !e.Negated && e.IsEquality() && e.Operand(1).Value.Compare(kindsFolder) == 0 {
			if v, ok := e.Operand(0).Value.(ast.Var); ok && v.IsGenerated() {
				out[v] = true
			}
		}
		return false
	})
	return out
}

// asksFindings reports whether a reference is to the findings of every package of a folder that one of these variables holds.
func asksFindings(ref ast.Ref, folder map[ast.Var]bool) bool {
	if len(ref) < 6 || !ref.HasPrefix(everyFindings) || !ref[5].Equal(ast.StringTerm(policy.FindingsRule)) {
		return false
	}
	kind, ok := ref[3].Value.(ast.Var)
	every, is := ref[4].Value.(ast.Var)
	return ok && is && folder[kind] && every.IsWildcard()
}

// need marks the modules that a module refers to, and those that these do.
func need(p *policy.Policy, m *ast.Module, needed map[string]bool) {
	ast.WalkRefs(m, func(ref ast.Ref) bool {
		if !ref.HasPrefix(ast.DefaultRootRef) {
			return false
		}
		for _, r := range p.Compiler().GetRulesDynamicWithOpts(ref, ast.RulesOptions{}) {
			if file := r.Location.File; !needed[file] {
				needed[file] = true
				need(p, p.Compiler().Modules[file], needed)
			}
		}
		return false
	})
}

// rules are the rules of one name in a package, as they are for the kind.
func (f *fuser) rules(p policy.Package, name string) []*ast.Rule {
	var out []*ast.Rule
	for _, r := range f.compiler.GetRulesExact(p.Ref.Append(ast.StringTerm(name))) {
		f.left = min(maxCopied, f.all)
		before := f.left
		body, possible := f.body(r.Body.Copy())
		f.all -= before - f.left
		if r.Default || !possible {
			continue
		}
		fused := r.Copy()
		fused.Body, fused.Annotations = body, nil
		fused.Head.Name, fused.Head.Reference = ast.Var(name), ast.Ref{ast.VarTerm(name)}
		out = append(out, fused)
	}
	return out
}

// body is what is left of a body for the kind; false when it can never hold.
func (f *fuser) body(b ast.Body) (ast.Body, bool) {
	var out []*ast.Expr
	for _, e := range b {
		left, possible := f.expr(e)
		if !possible {
			return nil, false
		}
		out = append(out, left...)
	}
	if len(out) == 0 {
		out = []*ast.Expr{ast.NewExpr(ast.InternedTerm(true))}
	}
	return ast.NewBody(out...), true
}

func (f *fuser) expr(e *ast.Expr) ([]*ast.Expr, bool) {
	if holds, ok := f.asksKind(e); ok {
		return nil, holds
	}
	helpers := f.helpers(e)
	if helpers == nil || !f.afford(helpers) {
		return []*ast.Expr{e}, true
	}
	var bodies []ast.Body
	for _, h := range helpers {
		if b, possible := f.body(f.rename(h.Body.Copy())); possible {
			bodies = append(bodies, b)
		}
	}
	switch {
	case e.Negated:
		return f.none(e, bodies)
	case len(bodies) == 0:
		return nil, false
	case len(bodies) == 1:
		return bodies[0], true
	default: // one of several; it stays a rule of its own
		return []*ast.Expr{e}, true
	}
}

// afford takes what copying the rules costs from what is left, and says whether there was enough.
func (f *fuser) afford(rules []*ast.Rule) bool {
	cost := 0
	for _, r := range rules {
		if f.size[r] == 0 {
			f.size[r] = 1
			ast.WalkTerms(r.Body, func(*ast.Term) bool { f.size[r]++; return false })
		}
		cost += f.size[r]
	}
	if cost > f.left {
		return false
	}
	f.left -= cost
	return true
}

// none says that none of the bodies holds.
func (f *fuser) none(e *ast.Expr, bodies []ast.Body) ([]*ast.Expr, bool) {
	var out []*ast.Expr
	for _, b := range bodies {
		if len(b) == 1 && isTrueTerm(b[0]) {
			return nil, false
		}
		not := ast.NewExpr(&ast.Not{Body: b, ExplicitBody: true, Location: e.Location})
		not.Location = e.Location
		out = append(out, not)
	}
	return out, true
}

// helpers are the rules that an expression asks, and nothing else, where each is true under its conditions and no more.
func (f *fuser) helpers(e *ast.Expr) []*ast.Rule {
	t, ok := e.Terms.(*ast.Term)
	if !ok || len(e.With) > 0 {
		return nil
	}
	ref, ok := t.Value.(ast.Ref)
	if !ok || !ref.HasPrefix(ast.DefaultRootRef) || !ref.IsGround() {
		return nil
	}
	rules := f.compiler.GetRulesExact(ref)
	for _, r := range rules {
		if r.Default || r.Else != nil || r.Head.RuleKind() != ast.SingleValue || len(r.Head.Args) > 0 || r.Head.Value == nil || !r.Head.Value.Equal(ast.InternedBooleanTrue) || !generated(r.Body) {
			return nil
		}
	}
	return rules
}

// rename gives the variables of a body names that it has nowhere else.
func (f *fuser) rename(b ast.Body) ast.Body {
	f.copies++
	renamed, err := ast.TransformVars(b, func(v ast.Var) (ast.Value, error) {
		if v.IsGenerated() || v.IsWildcard() {
			return ast.Var(fmt.Sprintf("%sc%d", v, f.copies)), nil
		}
		return v, nil
	})
	if err != nil { // the function gives none
		return b
	}
	return renamed.(ast.Body)
}

// generated reports whether the compiler has named all variables of a body; another name could be meant for the whole rule.
func generated(b ast.Body) bool {
	for v := range b.Vars(ast.VarVisitorParams{SkipRefCallHead: true}) {
		if !v.IsGenerated() && !v.IsWildcard() && !ast.RootDocumentNames.Contains(ast.NewTerm(v)) {
			return false
		}
	}
	return true
}

// asksKind reports whether an expression asks that the candidate be of one kind, or of any but one, and whether that holds.
func (f *fuser) asksKind(e *ast.Expr) (holds, ok bool) {
	other := e.IsCall() && e.Operator().Equal(ast.NotEqual.Ref())
	if e.Negated || len(e.With) > 0 || !e.IsEquality() && !other {
		return false, false
	}
	a, b := e.Operand(0).Value, e.Operand(1).Value
	if _, constant := a.(ast.String); constant {
		a, b = b, a
	}
	ref, isRef := a.(ast.Ref)
	kind, constant := b.(ast.String)
	asked := isRef && constant && ref.Equal(ast.InputRootRef.Append(ast.StringTerm("kind")))
	return (string(kind) == f.kind) != other, asked
}

// about reports whether a rule does not ask for another kind before all else.
func (f *fuser) about(r *ast.Rule) bool {
	holds, asked := f.asksKind(r.Body[0])
	return holds || !asked
}

func isTrueTerm(e *ast.Expr) bool {
	t, ok := e.Terms.(*ast.Term)
	return ok && !e.Negated && t.Equal(ast.InternedBooleanTrue)
}
