package policy

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	opa "github.com/open-policy-agent/opa/v1/types"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/winnow-reaper/winnow/engine/policy/lint"
)

// Checked is all that is wrong with policies and their tests, and what there is.
type Checked struct {
	// Refused is why they would not be loaded, or why the tests would not compile. Advice breaks nothing.
	Refused lint.Refusals `json:"refused,omitempty"`
	Advice  lint.Refusals `json:"advice,omitempty"`
	// Rules and Kinds are as Policy.Rules and Policy.Kinds say; nil where the policies are refused.
	Rules map[string]Rule `json:"rules,omitempty"`
	Kinds []string        `json:"kinds,omitempty"`
}

// Check says what is wrong with what was read: what Build refuses, and what the strict compiler says of the tests, which are held to the
// schema of the input too. With advice it also says what is asked of the rules that are shipped, of trees that are not Beside. unplanned says why a policy has
// no plan, "" where it has one.
func (s *Sources) Check(ctx context.Context, advice bool, unplanned func(*Policy) string, step func(string)) Checked {
	p, modules, refused := s.build(ctx, step)
	tests, unparsed := s.parseTests(ctx, step)
	out := Checked{Refused: slices.Concat(refused, unparsed)}
	if p != nil && len(unparsed) == 0 {
		step("the tests")
		// The modules of the policies were not changed by their own compiler, which compiles copies.
		own, _ := declared(modules)
		c := newCompiler(own, TestCapabilities()).WithEnablePrintStatements(true)
		if c.Compile(byName(slices.Concat(modules, tests))); c.Failed() {
			out.Refused = append(out.Refused, inTests(lint.FromOPA("policy", c.Errors))...)
		}
	}
	if p != nil && len(out.Refused) == 0 {
		out.Rules, out.Kinds = p.Rules(), p.Kinds()
		step("all of them together")
		if why := unplanned(p); why != "" {
			out.Advice = append(out.Advice, lint.Refusal{Class: lint.ClassPlan, File: "policy", Problem: "OPA's plan of these rules is not run: " + strings.TrimSuffix(strings.TrimPrefix(why, "run a plan: "), ", which is not known"),
				Fix: "nothing is wrong with them, but each decision takes longer; write that in another way"})
		}
	}
	if advice {
		mine := slices.DeleteFunc(slices.Clone(modules), func(m module) bool { return m.from.tree.Beside })
		out.Advice = append(out.Advice, lint.Advice(parsed(mine)...)...)
	}
	out.Refused, out.Advice = s.shown(out.Refused).Sorted(), s.shown(out.Advice).Sorted()
	return out
}

// Passed are the files in the trees that are read neither as policies nor as tests, and the folders whose name begins with a dot, which are
// not looked into.
func (s *Sources) Passed() []string {
	out := []string{}
	for _, t := range s.trees {
		if !t.tree.Beside {
			out = append(out, t.passed...)
		}
	}
	return out
}

// Names are the files of policies and of tests, of trees that are not Beside.
func (s *Sources) Names() (policies, tests []string) {
	policies, tests = []string{}, []string{}
	for _, t := range s.trees {
		if t.tree.Beside {
			continue
		}
		for _, f := range t.policies() {
			policies = append(policies, f.Name)
		}
		for _, f := range t.tests {
			tests = append(tests, f.Name)
		}
	}
	return policies, tests
}

// beyond are the built-ins that lead out of a test: into the network, the environment, or to files that a schema names.
var beyond = []string{"http.send", "net.lookup_ip_addr", "opa.runtime", "json.match_schema", "json.verify_schema"}

// TestCapabilities are what tests may call: all that OPA has, but for what leads out of them.
func TestCapabilities() *ast.Capabilities {
	c := ast.CapabilitiesForThisVersion()
	c.Builtins = slices.DeleteFunc(c.Builtins, func(b *ast.Builtin) bool { return slices.Contains(beyond, b.Name) })
	c.AllowNet = []string{}
	return c
}

// inTests says of built-ins that tests may not call something else than of those that policies may not.
func inTests(refused lint.Refusals) lint.Refusals {
	for i, r := range refused {
		if r.Class == lint.ClassBuiltin {
			refused[i].Problem = strings.TrimSuffix(r.Problem, "policies") + "tests"
			refused[i].Fix = "a test gives all that a rule reads with input as: it asks no network, no environment and no other file"
		}
	}
	return refused
}

func (s *Sources) parseTests(ctx context.Context, step func(string)) ([]module, lint.Refusals) {
	return parseFiles(ctx, s.trees, func(r *read) []File { return r.tests }, TestCapabilities(), step)
}

// Suite is what tests run over.
type Suite struct {
	// Modules are all policies and tests by file, Given those of the trees that are tested.
	Modules, Given map[string]*ast.Module
	// Data is what the files of data hold, each below its folder, as OPA loads them.
	Data map[string]any

	from *Sources
}

// Suite parses policies and tests as the stock tester does: nothing is linted, and places say nothing. Of trees that are Beside it takes the
// packages that no other tree has.
func (s *Sources) Suite(ctx context.Context, step func(string)) (*Suite, error) {
	allowed := TestCapabilities()
	out := &Suite{Modules: map[string]*ast.Module{}, Given: map[string]*ast.Module{}, Data: map[string]any{}, from: s}
	modules, refused := parseFiles(ctx, s.trees, (*read).policies, allowed, step)
	tests, unparsed := s.parseTests(ctx, step)
	refused = slices.Concat(s.refused, refused, unparsed)
	given := map[string]bool{}
	for _, m := range slices.Concat(modules, tests) {
		if !m.from.tree.Beside {
			out.Modules[m.file.Name], out.Given[m.file.Name] = m.Module, m.Module
			given[m.Package.Path.String()] = true
		}
	}
	for _, m := range modules {
		if m.from.tree.Beside && !given[m.Package.Path.String()] {
			out.Modules[m.file.Name] = m.Module
		}
	}
	for _, t := range s.trees {
		for _, f := range t.data {
			refused = append(refused, f.into(out.Data)...)
		}
	}
	return out, s.shown(refused).Err()
}

// into puts what a file of data holds below its folder.
func (f File) into(all map[string]any) lint.Refusals {
	refuse := func(problem, fix string) lint.Refusals {
		return lint.Refusals{{Class: lint.ClassData, File: f.Name, Problem: problem, Fix: fix}}
	}
	var v any
	if err := util.Unmarshal(f.data, &v); err != nil {
		return refuse(fmt.Sprintf("read data for the tests: %v", err), "correct the file, or move it out of the folder of policies")
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return refuse("read data for the tests: it is no object", "write an object, or move the file out of the folder of policies")
	}
	at := all
	if dir := path.Dir(f.Path); dir != "." {
		for part := range strings.SplitSeq(dir, "/") {
			next, ok := at[part].(map[string]any)
			if _, taken := at[part]; taken && !ok {
				return refuse(fmt.Sprintf("read data for the tests: another file has a value for %s", part), "remove one of the two")
			}
			if !ok {
				next = map[string]any{}
				at[part] = next
			}
			at = next
		}
	}
	if key := mergeInto(at, fields); key != "" {
		return refuse(fmt.Sprintf("read data for the tests: another file has a value for %s", key), "remove one of the two")
	}
	return nil
}

// mergeInto merges objects, and gives the first key of which both have a value that is no object.
func mergeInto(to, from map[string]any) string {
	for k, v := range from {
		old, taken := to[k]
		if !taken {
			to[k] = v
			continue
		}
		a, ok1 := old.(map[string]any)
		b, ok2 := v.(map[string]any)
		if !ok1 || !ok2 {
			return k
		}
		if key := mergeInto(a, b); key != "" {
			return key
		}
	}
	return ""
}

// Refused makes refusals of what the compiler says of a suite; any other error stays as it is.
func (s *Suite) Refused(err error) error {
	if many := (ast.Errors)(nil); errors.As(err, &many) {
		return s.from.shown(inTests(lint.FromOPA("policy", err))).Err()
	}
	return err
}

// dangling refuses references to rules that do not exist. The compiler takes them for data that may come later, so that a
// misspelt name would be a condition that never holds.
func dangling(c *ast.Compiler, modules []module) lint.Refusals {
	var refused lint.Refusals
	for _, m := range modules {
		compiled := c.Modules[m.file.Name]
		seen := map[string]bool{}
		ast.WalkRefs(compiled, func(r ast.Ref) bool {
			if !r.HasPrefix(ast.DefaultRootRef) || len(r) < 2 || defined(c, r) || seen[r.String()] {
				return false
			}
			seen[r.String()] = true
			refused = append(refused, m.refuse(lint.ClassUndefined, r[0].Location, fmt.Sprintf("%s is not defined", r), siblings(c, r)+"define the rule, or correct the name or the import"))
			return false
		})
	}
	return refused
}

// defined reports whether a reference names a rule, goes into one or leads to a package. What comes after a variable cannot be
// told before it is evaluated.
func defined(c *ast.Compiler, r ast.Ref) bool {
	fixed := r.ConstantPrefix()
	for n := len(fixed); n > 1; n-- {
		if len(c.GetRulesExact(fixed[:n])) > 0 {
			return true
		}
	}
	return len(fixed) == 1 || c.RuleTree.Find(fixed) != nil
}

// siblings are the rules of the package that a reference leads into, as the beginning of a sentence: the one that may have been meant, or all. It is
// empty where there is no such package.
func siblings(c *ast.Compiler, r ast.Ref) string {
	fixed := r.ConstantPrefix()
	for n := len(fixed) - 1; n > 2; n-- {
		node := c.RuleTree.Find(fixed[:n])
		if node == nil {
			continue
		}
		var names []ast.Value
		for _, child := range node.Children {
			if name := lint.ValueText(child.Key); !strings.HasPrefix(name, "_") {
				names = append(names, child.Key)
			}
		}
		if len(names) == 0 {
			return ""
		}
		slices.SortFunc(names, ast.Value.Compare)
		words := lint.Nearest(lint.ValueText(fixed[n].Value), names)
		if !strings.HasSuffix(words, "?") {
			words += ";"
		}
		return strings.Replace(words, "it has", fixed[:n].String()+" has", 1) + " "
	}
	return ""
}

// ordered are the comparisons that the compiler takes for any two types.
var ordered = map[string]string{"gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "neq": "!="}

// mixed refuses comparisons of two types, of which the outcome says nothing: a number is less than every text, so that input.idle < "3d" is always
// true, and input.kind == "folder" never. The compiler sees neither. It looks at facts and at constants, whose types are known everywhere.
func mixed(c *ast.Compiler, modules []module, known []string) lint.Refusals {
	var refused lint.Refusals
	for _, m := range modules {
		if m.from.tree.Beside || m.from.tree.Prefix == "" { // what ships is held by its tests
			continue
		}
		ast.WalkExprs(m.Module, func(e *ast.Expr) bool {
			if !e.IsCall() || len(e.Operands()) < 2 {
				return false
			}
			op, left, right := e.Operator().String(), e.Operand(0), e.Operand(1)
			if sign := ordered[op]; sign != "" {
				if l, r := typeOf(c, left), typeOf(c, right); !lint.Fits(l, r) && !isNull(l) && !isNull(r) { // != null asks whether something is there
					refused = append(refused, m.refuse(lint.ClassType, e.Location, fmt.Sprintf("%s compares two types, so that it is always the same: left is %s, right is %s", sign, lint.TypeWords(l), lint.TypeWords(r)),
						"compare values of one type; docs/reference/documents.md says what type each fact has. Times are numbers of seconds"))
				}
			}
			if op == ast.Equal.Name || op == ast.Equality.Name || op == ast.NotEqual.Name {
				for _, pair := range [][2]*ast.Term{{left, right}, {right, left}} {
					kind, constant := pair[1].Value.(ast.String)
					if pair[0].Equal(kindTerm) && constant && !slices.Contains(known, string(kind)) {
						refused = append(refused, m.refuse(lint.ClassType, e.Location, fmt.Sprintf("%s is no kind; kinds are %s", string(kind), strings.Join(known, ", ")), "write one of them"))
					}
				}
			}
			return false
		})
	}
	return refused
}

func isNull(t opa.Type) bool { _, null := t.(opa.Null); return null }

var kindTerm = ast.MustParseTerm("input.kind")

// typeOf is the type of a fact or a constant; nil for what only a body knows.
func typeOf(c *ast.Compiler, t *ast.Term) opa.Type {
	switch v := t.Value.(type) {
	case ast.Ref:
		if !v.HasPrefix(ast.InputRootRef) || !v.IsGround() {
			return nil
		}
		return c.TypeEnv.GetByRef(v)
	case ast.String, ast.Number, ast.Boolean, ast.Null:
		return c.TypeEnv.GetByValue(t.Value)
	}
	return nil
}
