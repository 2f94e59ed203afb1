package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// scopePackage holds one rule a kind, written by scopes: true when some package under reap claims the candidate.
const scopePackage = "winnow.scope"

// scopes writes the module that asks all packages of a kind whether a candidate is theirs.
func (p *Policy) scopes() map[string]*ast.Module {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n", scopePackage)
	for _, kind := range slices.Sorted(maps.Keys(p.reap)) {
		for _, k := range p.reap[kind] {
			fmt.Fprintf(&b, "\n%s if %s.in_scope\n", kind, k.ref)
		}
	}
	m, err := ast.ParseModuleWithOpts(scopePackage, b.String(), ast.ParserOptions{Capabilities: capabilities()})
	if err != nil || m == nil { // only where there is no package; that is refused after
		return nil
	}
	return map[string]*ast.Module{scopePackage: m}
}

// describe finds where each rule stands and what its METADATA says: its own title, or else its package's.
func (p *Policy) describe(modules []module) map[string]Rule {
	rules := map[string]Rule{}
	for _, m := range modules {
		path := below(m.Package)
		if len(path) == 0 || outputs[path[0]].set == "" {
			continue
		}
		id := strings.Join(path, ".")
		for _, r := range m.Rules {
			if string(r.Head.Name) != outputs[path[0]].set {
				continue
			}
			if _, first := rules[id]; !first {
				rules[id] = m.rule(id, r)
			}
		}
	}
	return rules
}

func (m module) rule(id string, r *ast.Rule) Rule {
	out := Rule{ID: id, File: m.file.Name, Line: r.Location.Row}
	for _, a := range r.Annotations {
		out.Title, out.Description = a.Title, a.Description
	}
	if out.Title != "" {
		return out
	}
	for _, a := range m.Annotations {
		if a.Scope == "package" {
			out.Title, out.Description = a.Title, a.Description
		}
	}
	return out
}
