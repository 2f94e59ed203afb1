package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	opa "github.com/open-policy-agent/opa/v1/types"

	"github.com/winnow-reaper/winnow/engine/policy/lint"
)

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
