package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// programs are rules that between them need every statement that a machine knows. x is what each gives.
var programs = map[string]string{
	"a field":                      `x := input.a.b`,
	"a field that is missing":      `x := input.a.nothing`,
	"a field of what is no object": `x := input.n.b`,
	"null":                         `x := [input.null, null]`,
	"the whole input":              `x := input`,
	"members of the input":         `x contains k if some k, _ in input`,
	"a field by a variable":        `x := [v | some k in ["n", "s", "none"]; v := input[k]]`,
	"an element":                   `x := input.list[1]`,
	"an element that is not there": `x := input.list[17]`,
	"a member of a set": `s contains v if some v in input.list
x := s["two"]`,
	"numbers": `x := [1, 1.5, 1e3, 123456789012345678901234567890, -7]`,
	"sums":    `x := [a | some n in [1, 2.5, 1e30]; a := ((n + 1) * 3) / 2 - 4]`,
	"comparisons": `x := [c |
	some a in [1, 2, "two", null, [1], {"a": 1}]
	some b in [1, 2, "two", null, [1], {"a": 1}]
	c := [a < b, a <= b, a > b, a >= b, a == b, a != b]
]`,
	"an array":                     `x := [v | some v in input.list]`,
	"a set":                        `x := {v | some v in array.concat(input.list, input.list)}`,
	"an object":                    `x := {v: i | some i, v in input.list}`,
	"an object with two values":    `x := {"k": v | some v in input.list}`,
	"empty ones":                   `x := [[], {}, set(), {v | some v in input.none}, [v | some v in input.none]]`,
	"a partial set":                "x contains v if some v in input.list\nx contains \"more\"",
	"a partial set of nothing":     `x contains v if some v in input.none`,
	"a default":                    "default x := \"no\"\nx := \"yes\" if input.none",
	"two values":                   "x := 1 if input.n\nx := 2 if input.s",
	"the same value twice":         "x := 1 if input.n\nx := 1 if input.s",
	"else":                         "x := 1 if { input.none } else := 2 if { input.s == \"no\" } else := 3",
	"not":                          `x if not input.none`,
	"not of what is there":         `x if not input.n`,
	"not of a helper":              "h if input.list[_] == \"two\"\nx if not h",
	"every":                        `x if every v in input.list { startswith(v, "t") }`,
	"every that fails":             `x if every v in input.list { v != "two" }`,
	"every of nothing":             "xs := [v | some v in input.list; v == \"three\"]\nx if every v in xs { v == 1 }",
	"some in":                      `x if "two" in input.list`,
	"some in an object":            `x if "deep" in input.a`,
	"some in a set":                `x if 3 in {1, 2, 3}`,
	"a key and a value":            `x := [k | some k, v in input.a; v == "deep"]`,
	"a function":                   "f(a, b) := c if c := a + b\nx := [f(1, 2), f(2, input.n)]",
	"a function of two bodies":     "f(a) := \"many\" if a > 1\nf(a) := \"one\" if a == 1\nx := [f(1), f(2)]",
	"a function that is undefined": "f(a) := a if a > 1\nx := [y | some v in [1, 2, 3]; y := f(v)]",
	"a function that asks another": "g(a) := a * 2\nf(a) := g(a) + g(a)\nx := f(3)",
	"a function of the input":      "f(o) := o.a.b\nx := f(input)",
	"a function of constants":      "f(\"a\") := 1\nf(\"b\") := 2\nx := [f(\"a\"), f(\"b\")]",
	"a function asked again":       "f(a) := {\"n\": a + 1, \"t\": $\"{a}\"}\nx := [[f(n).n, f(n).t, f(\"\")] | some n in [1, 2, 1, 1.0, 1e0]; f(n)]",
	"one text, two types":          "f(a) := type_name(a)\nx := [f(1), f(\"1\"), f(true), f(null), f([1])]",
	"a set of constants in a loop": `x := [[v in {"one", "three"}, {"one", "three"} | {v}] | some v in input.list]`,
	"objects of constants":         `x := [object.union({"k": "v"}, {v: 1}) | some v in input.list]`,
	"a set that a loop adds to":    "x contains \"one\"\nx contains v if some v in {\"two\", \"three\"}\nx contains v if some v in input.list",
	"a template":                   `x := $"{input.s} has {input.n} of {input.none}"`,
	"built-ins":                    `x := [count(input.list), count("äöü"), concat(",", input.list), upper(input.s), sprintf("%v", [input.a])]`,
	"a length":                     `x := count({v | some v in input.list})`,
	"a built-in that fails":        `x := count(input.n)`,
	"a text where none is":         `x := startswith(input.n, "a")`,
	"a wrong expression":           `x := regex.match("(", input.s)`,
	"nested loops":                 `x := [[a, b] | some a in input.list; some b in input.list; a != b]`,
	"unification":                  `x := [a, b] if [a, b] = input.list`,
	"unification of objects":       `x := b if {"b": b} = input.a`,
	"unification that fails":       `x := a if [a, 17] = input.list`,
	"is it a list":                 `x := [is_array(input.list), is_object(input.list), is_set({1})]`,
	"negated numbers":              `x := [v | some v in [3, 1, 2]; not v == 1]`,
	"a chain of helpers":           "a := b\nb := c\nc := input.n\nx := [a, b, c]",
	"helpers of a partial set":     "big contains v if { some v in input.list; count(v) > 2 }\nx := [v | some v in big]",
	"nothing":                      `x if false`,
	"false":                        `x := false`,
}

const document = `{"a": {"b": "deep"}, "n": 3, "s": "text", "null": null, "list": ["one", "two"], "none": false}`

// TestAgreesWithTopdown: a plan gives what OPA's evaluator gives, or an error where that gives one.
func TestAgreesWithTopdown(t *testing.T) {
	t.Parallel()
	in := input(t)
	statements := map[string]bool{}
	for name, body := range programs {
		t.Run(name, func(t *testing.T) {
			c := ast.MustCompileModules(map[string]string{"t.rego": "package t\n\n" + body + "\n"})
			ref := ast.MustParseRef("data.t.x")
			planned, err := plan.Build(t.Context(), c, []ast.Ref{ref})
			must.Do(t, err)
			for _, f := range planned.Funcs.Funcs {
				kindsOf(f.Blocks, statements)
			}
			p := must.Get(plan.New(planned))(t)
			rule := p.Rule(ref)
			if rule == nil {
				t.Fatalf("the plan has no %v", ref)
			}
			p.Prepare(rule)
			m := p.Machine()
			for range 2 { // the second one must not live from the first
				m.Document(in)
				have, err := m.Ask(topdown.NewCancel(), rule)
				want, stock := topdownOf(t, c, in)
				if (err != nil) != (stock != nil) {
					t.Fatalf("the plan: %v; topdown: %v", err, stock)
				}
				if err == nil && (have == nil) != (want == nil) || have != nil && want != nil && have.Value.Compare(want) != 0 {
					t.Errorf("the plan: %v; topdown: %v", have, want)
				}
			}
		})
	}
	for _, s := range []ir.Stmt{&ir.ArrayAppendStmt{}, &ir.AssignIntStmt{}, &ir.AssignVarOnceStmt{}, &ir.AssignVarStmt{}, &ir.BlockStmt{}, &ir.BreakStmt{}, &ir.CallStmt{},
		&ir.DotStmt{}, &ir.EqualStmt{}, &ir.IsArrayStmt{}, &ir.IsDefinedStmt{}, &ir.IsObjectStmt{}, &ir.IsUndefinedStmt{}, &ir.LenStmt{}, &ir.MakeArrayStmt{}, &ir.MakeNullStmt{},
		&ir.MakeNumberIntStmt{}, &ir.MakeNumberRefStmt{}, &ir.MakeObjectStmt{}, &ir.MakeSetStmt{}, &ir.NotEqualStmt{}, &ir.NotStmt{}, &ir.ObjectInsertStmt{},
		&ir.ObjectInsertOnceStmt{}, &ir.ResetLocalStmt{}, &ir.ReturnLocalStmt{}, &ir.ScanStmt{}, &ir.SetAddStmt{}} {
		if kind := fmt.Sprintf("%T", s); !statements[kind] {
			t.Errorf("no program here needs %s", kind)
		}
	}
}

// input is the document that programs are asked of.
func input(t testing.TB) ast.Value {
	t.Helper()
	return must.Get(ast.ValueFromReader(strings.NewReader(document)))(t)
}

func kindsOf(bs []*ir.Block, to map[string]bool) {
	for _, b := range bs {
		for _, s := range b.Stmts {
			to[fmt.Sprintf("%T", s)] = true
			switch s := s.(type) {
			case *ir.BlockStmt:
				kindsOf(s.Blocks, to)
			case *ir.ScanStmt:
				kindsOf([]*ir.Block{s.Block}, to)
			case *ir.NotStmt:
				kindsOf([]*ir.Block{s.Block}, to)
			}
		}
	}
}

// topdownOf is what OPA's evaluator gives for x; nil where it is undefined.
func topdownOf(t *testing.T, c *ast.Compiler, in ast.Value) (ast.Value, error) {
	t.Helper()
	rs, err := rego.New(rego.Compiler(c), rego.Query("y := data.t.x"), rego.ParsedInput(in), rego.StrictBuiltinErrors(true),
		rego.GenerateJSON(func(t *ast.Term, _ *rego.EvalContext) (any, error) { return t.Value, nil })).Eval(t.Context())
	if err != nil || len(rs) == 0 {
		return nil, err
	}
	return rs[0].Bindings["y"].(ast.Value), nil
}

// TestWhatIsNotKnownIsRefused: a plan with a statement that no machine runs is refused before it runs.
func TestWhatIsNotKnownIsRefused(t *testing.T) {
	t.Parallel()
	c := ast.MustCompileModules(map[string]string{"t.rego": "package t\n\nh if input.n == 4\n\nx if h with input as {\"n\": 4}\n"})
	planned, err := plan.Build(t.Context(), c, []ast.Ref{ast.MustParseRef("data.t.x")})
	must.Do(t, err)
	if _, err := plan.New(planned); err == nil || !strings.Contains(err.Error(), "WithStmt") {
		t.Errorf("have %v, want WithStmt to be refused", err)
	}
}

// TestCancelled: a loop without an end ends when it is cancelled, and the machine can be asked again.
func TestCancelled(t *testing.T) {
	t.Parallel()
	c := ast.MustCompileModules(map[string]string{"t.rego": `package t

xs := numbers.range(1, 1000)

x if {
	some a in xs
	some b in xs
	some c in xs
	a + b + c == 100000
}

y := 7
`})
	x, y := ast.MustParseRef("data.t.x"), ast.MustParseRef("data.t.y")
	planned, err := plan.Build(t.Context(), c, []ast.Ref{x, y})
	must.Do(t, err)
	p := must.Get(plan.New(planned))(t)
	p.Prepare(p.Rule(x), p.Rule(y))
	m, cancel := p.Machine(), topdown.NewCancel()
	m.Document(ast.NewObject())
	go cancel.Cancel()
	if _, err := m.Ask(cancel, p.Rule(x)); err == nil {
		t.Error("it came to an end")
	}
	m.Document(ast.NewObject())
	if v, err := m.Ask(topdown.NewCancel(), p.Rule(y)); err != nil || v == nil || v.Value.Compare(ast.Number("7")) != 0 {
		t.Errorf("afterwards: %v, %v", v, err)
	}
}

// TestOneDocumentTellsNothingOfAnother: a function that rests on more than its arguments is asked again, of the same machine.
func TestOneDocumentTellsNothingOfAnother(t *testing.T) {
	t.Parallel()
	c := ast.MustCompileModules(map[string]string{"t.rego": `package t

own(a) := a + 1
reads(a) := a + input.n
asks(a) := reads(own(a))
loops(a) := [v | some v in input.list; v != a]

x := [own(1), reads(1), asks(1), loops("one")]
`})
	ref := ast.MustParseRef("data.t.x")
	p := must.Get(plan.New(must.Get(plan.Build(t.Context(), c, []ast.Ref{ref}))(t)))(t)
	p.Prepare(p.Rule(ref))
	m := p.Machine()
	for _, doc := range []string{document, `{"n": 40, "list": ["one", "four"]}`, `{"n": 1}`, document} {
		in := ast.MustParseTerm(doc).Value
		m.Document(in)
		have := must.Get(m.Ask(topdown.NewCancel(), p.Rule(ref)))(t)
		want := must.Get(topdownOf(t, c, in))(t)
		if have == nil || have.Value.Compare(want) != 0 {
			t.Errorf("%s: the plan: %v; topdown: %v", doc, have, want)
		}
	}
}

// TestWhatIsRememberedIsBounded asks a function of more than a machine remembers.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	t.Parallel()
	c := ast.MustCompileModules(map[string]string{"t.rego": `package t

f(a) := concat("", [a, "!"])

once := [f(a) | some i in numbers.range(1, 5000); a := $"{i}"]

x := [f(a) | some a in once]
`})
	ref := ast.MustParseRef("data.t.x")
	p := must.Get(plan.New(must.Get(plan.Build(t.Context(), c, []ast.Ref{ref}))(t)))(t)
	p.Prepare(p.Rule(ref))
	m := p.Machine()
	m.Document(input(t))
	have := must.Get(m.Ask(topdown.NewCancel(), p.Rule(ref)))(t)
	if want := must.Get(topdownOf(t, c, input(t)))(t); have.Value.Compare(want) != 0 {
		t.Error("the plan and topdown do not agree")
	}
	if n := plan.Remembered(m); n == 0 || n > 1024 {
		t.Errorf("%d calls are remembered", n)
	}
}
