package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

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
	if len(fixed) == 1 {
		return true
	}
	if c.RuleTree.Find(fixed) != nil {
		return true
	}
	return false
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
