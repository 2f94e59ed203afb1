package engine

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// packages are the paths below policies of all modules, each once, sorted.
func packages(modules []module) [][]string {
	var all [][]string
	for _, m := range modules {
		all = append(all, below(m.Package))
	}
	slices.SortFunc(all, slices.Compare)
	return slices.CompactFunc(all, slices.Equal)
}

// below is a package's path without data.policies; empty for that package itself and for one that is not under it.
func below(p *ast.Package) []string {
	var out []string
	for _, t := range p.Path[1:] {
		out = append(out, text(t.Value))
	}
	if len(out) == 0 || out[0] != root {
		return nil
	}
	return out[1:]
}

// place refuses modules whose package is not their folder's, lies outside their tree's roots or is another tree's, and reasons
// that do not have the form that everything relies on.
func place(modules []module) Refusals {
	var refused Refusals
	owner := map[string]module{}
	for _, m := range modules {
		refused = append(refused, m.folder()...)
		_, rs := m.candidates()
		refused = append(refused, rs...)
		name := m.Package.Path.String()
		if first, taken := owner[name]; taken && first.from != m.from {
			refused = append(refused, m.refuse(m.Package.Location, fmt.Sprintf("package %s is also in %s", name[len("data."):], first.file.Name),
				"give it a folder and a package of its own: two trees may not define the same one"))
		} else {
			owner[name] = m
		}
	}
	return append(refused, forms(modules)...)
}

func (m module) refuse(at *ast.Location, problem, fix string) Refusal {
	r := Refusal{File: m.file.Name, Problem: problem, Fix: fix}
	if at != nil {
		r.Line = at.Row
	}
	return r
}

// folder holds a package to its folder, to its tree's roots and to the families that are gathered.
func (m module) folder() Refusals {
	at := m.Package.Location
	written := strings.TrimPrefix(m.Package.Path.String(), "data.")
	want := slices.Concat([]string{root}, strings.FieldsFunc(path.Dir(m.file.Path), func(r rune) bool { return r == '/' || r == '.' }))
	var have []string
	for _, t := range m.Package.Path[1:] {
		have = append(have, text(t.Value))
	}
	if !slices.Equal(have, want) {
		return Refusals{m.refuse(at, fmt.Sprintf("package %s in folder %s", written, path.Dir(m.file.Path)),
			fmt.Sprintf("write package %s, or move the file", strings.Join(want, ".")))}
	}
	if !m.rooted(have) {
		return Refusals{m.refuse(at, fmt.Sprintf("package %s is outside the roots of its manifest %q", written, m.from.manifest.Roots),
			"add its root to .manifest, or move the file")}
	}
	return m.family(have[1:], at)
}

func (m module) rooted(have []string) bool {
	return slices.ContainsFunc(m.from.manifest.Roots, func(r string) bool {
		parts := strings.FieldsFunc(r, func(c rune) bool { return c == '/' })
		return len(parts) <= len(have) && slices.Equal(parts, have[:len(parts)])
	})
}

// family refuses packages that nothing gathers: their rules would never be asked.
func (m module) family(have []string, at *ast.Location) Refusals {
	name := strings.Join(have, ".")
	switch {
	case len(have) > 0 && (have[0] == "lib" || have[0] == "main"):
		return nil
	case len(have) == 2 && have[0] == "protect":
		return nil
	case len(have) == 3 && have[0] == "reap":
		if _, ok := plurals[have[1]]; ok {
			return nil
		}
	}
	return Refusals{m.refuse(at, fmt.Sprintf("nothing asks package policies.%s", name),
		"use policies.reap.(tabs|sessions|terminals|dirs|processes).<name>, policies.protect.<why> or policies.lib.<topic>")}
}

// outputs are what a package must say, by family: a complete rule, or a partial set of reasons.
var outputs = map[string]struct{ set, complete string }{
	"reap":    {set: "findings", complete: "in_scope"},
	"protect": {set: "objections"},
}

func forms(modules []module) Refusals {
	var refused Refusals
	said := map[string]map[string]bool{}
	for _, m := range modules {
		path := below(m.Package)
		if len(path) == 0 || outputs[path[0]].set == "" {
			continue
		}
		id := strings.Join(path, ".")
		if said[id] == nil {
			said[id] = map[string]bool{}
		}
		for _, r := range m.Rules {
			said[id][string(r.Head.Name)] = true
			refused = append(refused, m.form(r, path[0], id)...)
		}
	}
	for _, m := range modules {
		path := below(m.Package)
		if len(path) == 0 {
			continue
		}
		for _, want := range []string{outputs[path[0]].set, outputs[path[0]].complete} {
			if id := strings.Join(path, "."); want != "" && !said[id][want] {
				said[id][want] = true
				refused = append(refused, m.refuse(m.Package.Location, fmt.Sprintf("package policies.%s has no rule %s", id, want),
					"write one; without it nothing in the package is ever asked"))
			}
		}
	}
	return refused
}

// form holds an output to its shape.
func (m module) form(r *ast.Rule, family, id string) Refusals {
	switch string(r.Head.Name) {
	case outputs[family].set:
		if r.Head.RuleKind() != ast.MultiValue || len(r.Head.Reference) != 1 || len(r.Head.Args) > 0 {
			return Refusals{m.refuse(r.Location, fmt.Sprintf("%s is not a set of reasons", r.Head.Name),
				fmt.Sprintf(`write %s contains {"rule": "%s", "message": ..., "evidence": {...}} if ...`, r.Head.Name, id))}
		}
		return m.reason(r, id)
	case outputs[family].complete:
		if r.Head.RuleKind() != ast.SingleValue || len(r.Head.Reference) != 1 || len(r.Head.Args) > 0 || !isTrue(r) {
			return Refusals{m.refuse(r.Location, "in_scope is neither true nor undefined", "write in_scope if ...")}
		}
	}
	return nil
}

func isTrue(r *ast.Rule) bool {
	v := r.Head.Value
	return v != nil && (v.Equal(ast.InternedBooleanTrue) || r.Default && v.Equal(ast.InternedBooleanFalse))
}

// reason wants the three parts of a reason in the head, its rule as a constant that is the package: the report, the ledger and
// the explanation find the rule by it.
func (m module) reason(r *ast.Rule, id string) Refusals {
	fix := fmt.Sprintf(`write contains {"rule": "%s", "message": ..., "evidence": {...}}`, id)
	o, ok := r.Head.Key.Value.(ast.Object)
	if !ok {
		return Refusals{m.refuse(r.Location, fmt.Sprintf("%s holds something that is not written as a reason", r.Head.Name), fix)}
	}
	var keys []string
	o.Foreach(func(k, _ *ast.Term) { keys = append(keys, text(k.Value)) })
	slices.Sort(keys)
	if !slices.Equal(keys, []string{"evidence", "message", "rule"}) {
		return Refusals{m.refuse(r.Location, fmt.Sprintf("a reason with %s", strings.Join(keys, ", ")), fix)}
	}
	if rule := o.Get(ast.StringTerm("rule")); !rule.Equal(ast.StringTerm(id)) {
		return Refusals{m.refuse(r.Location, fmt.Sprintf("rule %s is not its package", rule), fix)}
	}
	return nil
}
