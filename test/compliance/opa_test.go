// Package compliance holds what the module of OPA itself brings to hold evaluators to it against engine/plan.
package compliance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/test/cases"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// changed is how many changed documents each rule is asked of, beside a case's own.
const changed = 1

// outcomes counts what came of asking, and keeps what differs.
type outcomes struct {
	count  map[string]int
	differ []string
}

// TestPlanAgreesWithTopdown puts each of OPA's cases as a rule (data.winnowcase.answers, the set of the query's bindings), and asks every rule of
// its modules on its own too, as Winnow asks rules. Data of a case become rules. Both sides get the same modules: OPA's planner and engine/plan
// here, rego.New (topdown, strict errors of built-ins) there. One machine is asked of several documents, the case's own first and last, so that
// what it keeps from one to the next is held too, by a program as it was made and by one that was written and read.
func TestPlanAgreesWithTopdown(t *testing.T) {
	dir := must.Get(exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/open-policy-agent/opa").Output())(t)
	o := &outcomes{count: map[string]int{}}
	for _, set := range []string{"v1", "v0"} {
		for _, tc := range cases.MustLoad(filepath.Join(strings.TrimSpace(string(dir)), "v1/test/cases/testdata", set)).Sorted().Cases {
			o.run(t, set, tc)
		}
	}
	t.Log(o.count)
	if len(o.differ) > 0 {
		t.Errorf("the plan and topdown differ %d times:\n%s", len(o.differ), strings.Join(o.differ[:min(len(o.differ), 20)], "\n"))
	}
	if o.count["equal"] < 40_000 || o.count["needless"] > 1_000 {
		t.Errorf("of all documents: %v", o.count)
	}
}

// run asks both sides about one case.
func (o *outcomes) run(t *testing.T, set string, tc cases.TestCase) {
	for k, v := range tc.Env {
		t.Setenv(k, v)
	}
	versions := []ast.RegoVersion{ast.RegoV1}
	if set == "v0" {
		versions = append(versions, ast.RegoV0)
	}
	var c *ast.Compiler
	err := errors.New("no version")
	for _, v := range versions {
		if err != nil {
			c, err = compiled(tc, v)
		}
	}
	if err != nil { // it holds what modules alone cannot say
		o.count["not compiled"]++
		return
	}
	var in ast.Value = ast.NewObject()
	switch {
	case tc.InputTerm != nil:
		in = ast.MustParseTerm(*tc.InputTerm).Value
	case tc.Input != nil:
		in = ast.MustInterfaceToValue(*tc.Input)
	}
	for _, ref := range append(rulesOf(c), ast.MustParseRef("data.winnowcase.answers")) {
		o.ask(t, c, set+" "+tc.Note, ref, in)
	}
}

// ask compares what engine/plan gives for a rule with what topdown gives.
func (o *outcomes) ask(t *testing.T, c *ast.Compiler, note string, ref ast.Ref, in ast.Value) {
	planned, err := plan.Build(t.Context(), c, []ast.Ref{ref})
	if err != nil {
		o.count["refused by OPA's planner"]++
		return
	}
	program, err := plan.New(planned)
	if err != nil {
		o.count["refused by engine/plan"]++
		return
	}
	decoded := must.Get(plan.Decode(must.Get(plan.Encode(planned))(t)))(t)
	stock, err := rego.New(rego.Compiler(c), rego.Query("y := "+ref.String()), rego.StrictBuiltinErrors(true),
		rego.GenerateJSON(func(t *ast.Term, _ *rego.EvalContext) (any, error) { return t.Value, nil })).PrepareForEval(t.Context())
	if err != nil {
		o.count["refused by topdown"]++
		return
	}
	random := rand.New(rand.NewPCG(7, uint64(len(note))))
	documents := []ast.Value{in}
	for range changed {
		documents = append(documents, mutated(t, random, in))
	}
	for i, p := range []*plan.Program{program, decoded} {
		rule := p.Rule(ref)
		if rule == nil {
			o.count["not in the plan"]++
			return
		}
		p.Prepare(rule)
		m := p.Machine()
		for n, doc := range append(documents, in) {
			m.Document(doc)
			have, err := answer(m, rule)
			want, stockErr := topdownAnswer(t.Context(), stock, doc)
			outcome := "equal"
			switch {
			case err != nil && stockErr != nil:
				outcome = "an error of both"
			case err != nil: // also by a panic: topdown is asked then
				outcome = "needless"
			case stockErr != nil, (have == nil) != (want == nil), have != nil && have.Value.Compare(want) != 0:
				outcome = "different"
				o.differ = append(o.differ, fmt.Sprintf("%s %s, document %d, program %d: plan %v, topdown %v %v", note, ref, n, i, have, want, stockErr))
			}
			o.count[outcome]++
		}
	}
}

// answer is what a machine answers. Its panic is no answer, as engine/eval takes it.
func answer(m *plan.Machine, r *plan.Rule) (out *ast.Term, err error) {
	defer func() {
		if x := recover(); x != nil {
			out, err = nil, fmt.Errorf("panic: %v", x)
		}
	}()
	return m.Ask(topdown.NewCancel(), r)
}

func topdownAnswer(ctx context.Context, q rego.PreparedEvalQuery, in ast.Value) (ast.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	rs, err := q.Eval(ctx, rego.EvalParsedInput(in))
	if err != nil || len(rs) == 0 {
		return nil, err
	}
	return rs[0].Bindings["y"].(ast.Value), nil
}

// compiled compiles the modules of a case, its query as a rule and its data as rules.
func compiled(tc cases.TestCase, v ast.RegoVersion) (*ast.Compiler, error) {
	all := ast.CapabilitiesForThisVersion(ast.CapabilitiesExperimentalKeywords(true))
	opts := ast.ParserOptions{RegoVersion: v, Capabilities: ast.CapabilitiesForThisVersion(ast.CapabilitiesExperimentalKeywords(tc.ExperimentalKeywords))}
	modules := map[string]*ast.Module{}
	var packages []ast.Ref
	for i, text := range tc.Modules {
		name := fmt.Sprintf("test-%d.rego", i)
		m, err := ast.ParseModuleWithOpts(name, text, opts)
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue
		}
		modules[name] = m
		packages = append(packages, m.Package.Path)
		for _, r := range m.Rules {
			packages = append(packages, r.Ref().GroundPrefix())
		}
	}
	add := func(name string, path ast.Ref, rule *ast.Rule) {
		m := &ast.Module{Package: &ast.Package{Path: path}, Rules: []*ast.Rule{rule}}
		m.SetRegoVersionSpan(ast.RegoVersionSpanOf(v))
		rule.Module, modules[name] = m, m
	}
	if tc.Data != nil {
		if err := addData(add, packages, nil, *tc.Data); err != nil {
			return nil, err
		}
	}
	body, err := ast.ParseBodyWithOpts(tc.Query, ast.ParserOptions{RegoVersion: v, Capabilities: opts.Capabilities, AllFutureKeywords: true})
	if err != nil {
		return nil, err
	}
	vars := ast.NewVarVisitor().WithParams(ast.VarVisitorParams{SkipRefCallHead: true, SkipClosures: true, SkipRefHead: true})
	vars.Walk(body)
	var pairs [][2]*ast.Term
	for _, x := range slices.Sorted(maps.Keys(vars.Vars())) {
		if !x.IsWildcard() && !x.IsGenerated() && !ast.ReservedVars.Contains(x) {
			pairs = append(pairs, [2]*ast.Term{ast.StringTerm(string(x)), ast.VarTerm(string(x))})
		}
	}
	head := &ast.Head{Name: "answers", Reference: ast.Ref{ast.VarTerm("answers")}, Key: ast.NewTerm(ast.NewObject(pairs...))}
	add("query.rego", ast.MustParseRef("data.winnowcase"), &ast.Rule{Head: head, Body: body})
	c := ast.NewCompiler().WithCapabilities(all)
	if c.Compile(modules); c.Failed() {
		return nil, c.Errors
	}
	return c, nil
}

// addData makes rules of data, below a path, that give the same.
func addData(add func(name string, path ast.Ref, rule *ast.Rule), packages []ast.Ref, at []string, given any) error {
	own := ast.Ref{ast.DefaultRootDocument}
	for _, k := range at {
		own = own.Append(ast.StringTerm(k))
	}
	if len(at) == 0 || slices.ContainsFunc(packages, func(p ast.Ref) bool { return p.HasPrefix(own) }) {
		inner, ok := given.(map[string]any)
		if !ok {
			return errors.New("the data of the case stand where a rule of it stands")
		}
		for _, k := range slices.Sorted(maps.Keys(inner)) {
			if err := addData(add, packages, append(slices.Clone(at), k), inner[k]); err != nil {
				return err
			}
		}
		return nil
	}
	val, err := ast.InterfaceToValue(given)
	if err != nil {
		return err
	}
	name := at[len(at)-1]
	head := &ast.Head{Name: ast.Var(name), Reference: ast.Ref{ast.VarTerm(name)}, Value: ast.NewTerm(val), Assign: true}
	add("data-"+strings.Join(at, ".")+".rego", own[:len(own)-1], &ast.Rule{Head: head, Body: ast.NewBody(ast.NewExpr(ast.BooleanTerm(true)))})
	return nil
}

// rulesOf are the rules of a case that are no functions and whose path is known.
func rulesOf(c *ast.Compiler) (out []ast.Ref) {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.Modules)) {
		if !strings.HasPrefix(name, "test-") {
			continue
		}
		for _, r := range c.Modules[name].Rules {
			ref := r.Ref().GroundPrefix()
			if len(r.Head.Args) == 0 && len(ref) == len(r.Ref()) && !seen[ref.String()] {
				seen[ref.String()] = true
				out = append(out, ref)
			}
		}
	}
	return out
}

// mutated is a document with some of it changed, removed or made another type.
func mutated(t *testing.T, random *rand.Rand, v ast.Value) ast.Value {
	doc := must.Get(ast.JSON(v))(t)
	for range 1 + random.IntN(3) {
		doc = change(random, copied(doc))
	}
	return ast.MustInterfaceToValue(doc)
}

func change(random *rand.Rand, v any) any {
	switch x := v.(type) {
	case map[string]any:
		if len(x) == 0 || random.IntN(6) == 0 {
			break
		}
		k := slices.Sorted(maps.Keys(x))[random.IntN(len(x))]
		switch random.IntN(5) {
		case 0:
			delete(x, k)
		case 1:
			x[k+"x"] = copied(x[k])
		default:
			x[k] = change(random, x[k])
		}
		return x
	case []any:
		if len(x) == 0 || random.IntN(6) == 0 {
			break
		}
		i := random.IntN(len(x))
		switch random.IntN(5) {
		case 0:
			return slices.Delete(x, i, i+1)
		case 1:
			return append(x, copied(x[i]))
		default:
			x[i] = change(random, x[i])
		}
		return x
	}
	strange := []any{nil, true, false, "", "a", "ä\u0000\U0001F600", json.Number("0"), json.Number("-1"), json.Number("1.0"), json.Number("1e400"),
		json.Number("123456789012345678901234567890"), []any{}, map[string]any{}, []any{nil}, map[string]any{"": nil}, json.Number("3")}
	return strange[random.IntN(len(strange))]
}

func copied(v any) (out any) {
	data, _ := json.Marshal(v)
	_ = json.Unmarshal(data, &out)
	return out
}
