package engine

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

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
