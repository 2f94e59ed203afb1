package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// packages are the paths below policies of all modules, each once, sorted.
func packages(modules []module) [][]string {
	var all [][]string
	for _, m := range modules {
		all = append(all, policyPath(m.Package))
	}
	slices.SortFunc(all, slices.Compare)
	return slices.CompactFunc(all, slices.Equal)
}

// policyPath is a package's path without data.policies; empty for that package itself and for one that is not under it.
func policyPath(p *ast.Package) []string {
	var out []string
	for _, t := range p.Path[1:] {
		out = append(out, lint.ValueText(t.Value))
	}
	if len(out) == 0 || out[0] != root {
		return nil
	}
	return out[1:]
}

// place refuses modules whose package is not their folder's, lies outside their tree's roots or is another tree's, and reasons
// that do not have the form that everything relies on.
func place(modules []module) lint.Refusals {
	var refused lint.Refusals
	for _, m := range modules {
		refused = append(refused, m.folder()...)
		_, wrong := m.candidates()
		_, unclear := m.summaries()
		_, unknown := m.needs()
		refused = slices.Concat(refused, wrong, unclear, unknown)
	}
	return slices.Concat(refused, twice(modules), forms(modules), forbidden(modules))
}

// copies is how many packages two trees have both before they are taken for one tree that was given twice.
const copies = 4

// twice refuses packages that two trees define: one by one, or in one word where a tree is the copy of another.
func twice(modules []module) lint.Refusals {
	type pair struct{ first, second *read }
	owner, both := map[string]module{}, map[pair]lint.Refusals{}
	var pairs []pair
	for _, m := range modules {
		name := m.Package.Path.String()
		first, taken := owner[name]
		if !taken || first.from == m.from {
			owner[name] = m
			continue
		}
		p := pair{first.from, m.from}
		if both[p] == nil {
			pairs = append(pairs, p)
		}
		both[p] = append(both[p], m.refuse(lint.ClassDuplicate, m.Package.Location, fmt.Sprintf("package %s is also in %s", strings.TrimPrefix(name, "data."), first.file.Name),
			"give it a folder and a package of its own: two trees may not define the same one"))
	}
	var refused lint.Refusals
	for _, p := range pairs {
		if n := len(both[p]); n >= copies {
			refused = append(refused, lint.Refusal{Class: lint.ClassDuplicate, File: p.second.tree.place(),
				Problem: fmt.Sprintf("%d files have packages that %s has too, such as %s: it looks like a copy of that tree", n, p.first.tree.describe(), both[p][0].File),
				Fix:     "load one of the two: --no-embedded-policy (policy.embedded: false) leaves the embedded policies out; or keep only rules of your own in the folder"})
			continue
		}
		refused = append(refused, both[p]...)
	}
	return refused
}

// forbidden refuses calls of built-ins that policies may not call. The compiler does so too, but only of what stands in its place.
func forbidden(modules []module) lint.Refusals {
	own := map[string]bool{} // functions and imports that have the name of a built-in, or of its family
	for _, m := range modules {
		for _, r := range m.Rules {
			own[string(r.Head.Name)] = true
		}
		for _, i := range m.Imports {
			own[string(i.Name())] = true
		}
	}
	var refused lint.Refusals
	for _, m := range modules {
		check := func(f ast.Ref) {
			name := f.String()
			if head, ok := f[0].Value.(ast.Var); ok && !own[string(head)] && lint.IsForbidden(name) {
				r := m.refuse(lint.ClassBuiltin, f[0].Location, lint.NotAllowed(name), lint.Instead(name))
				r.Worst = true
				refused = append(refused, r)
			}
		}
		ast.WalkExprs(m.Module, func(e *ast.Expr) bool {
			if e.IsCall() {
				check(e.Operator())
			}
			return false
		})
		ast.WalkTerms(m.Module, func(t *ast.Term) bool {
			if c, ok := t.Value.(ast.Call); ok {
				if f, ok := c[0].Value.(ast.Ref); ok {
					check(f)
				}
			}
			return false
		})
	}
	return refused
}

func (m module) refuse(class string, at *ast.Location, problem, fix string) lint.Refusal {
	r := lint.Refusal{Class: class, File: m.file.Name, Problem: problem, Fix: fix}
	if at != nil {
		r.Line, r.Column = at.Row, at.Col
	}
	return r
}

// folder holds a package to its folder, to its tree's roots and to the families that are gathered.
func (m module) folder() lint.Refusals {
	at := m.Package.Location
	written := strings.TrimPrefix(m.Package.Path.String(), "data.")
	want := slices.Concat([]string{root}, strings.FieldsFunc(path.Dir(m.file.Path), func(r rune) bool { return r == '/' || r == '.' }))
	var have []string
	for _, t := range m.Package.Path[1:] {
		have = append(have, lint.ValueText(t.Value))
	}
	if !gathered(want[1:]) { // and no other package would be asked in that folder either
		if len(have) == 4 && have[0] == root && have[1] == "reap" && slices.Equal(have, want) {
			return lint.Refusals{m.refuse(lint.ClassPlace, at, fmt.Sprintf("%s is no kind; kinds are %s", have[2], strings.Join(snapshot.RuleFolders(), ", ")),
				fmt.Sprintf("move the file to reap/%[1]s/%[2]s/, and write package %[3]s.reap.%[1]s.%[2]s in it", m.kindMeant(have[2]), have[3], root))}
		}
		to := m.home(have[1:])
		return lint.Refusals{m.refuse(lint.ClassPlace, at, fmt.Sprintf("nothing asks package %s in folder %s", written, path.Dir(m.file.Path)),
			fmt.Sprintf("move the file to %s/, and write package %s.%s in it%s", to, root, strings.ReplaceAll(to, "/", "."), kindsHint(to)))}
	}
	if !slices.Equal(have, want) {
		return lint.Refusals{m.refuse(lint.ClassPlace, at, fmt.Sprintf("package %s in folder %s", written, path.Dir(m.file.Path)),
			fmt.Sprintf("write package %s, or move the file", strings.Join(want, ".")))}
	}
	if !m.rooted(have) {
		return lint.Refusals{m.refuse(lint.ClassPlace, at, fmt.Sprintf("package %s is outside the roots of its manifest %q", written, m.from.manifest.Roots),
			"add its root to .manifest, or move the file")}
	}
	return nil
}

func (m module) rooted(have []string) bool {
	return slices.ContainsFunc(m.from.manifest.Roots, func(r string) bool {
		parts := strings.FieldsFunc(r, func(c rune) bool { return c == '/' })
		return len(parts) <= len(have) && slices.Equal(parts, have[:len(parts)])
	})
}

// gathered reports whether packages of that path are asked, by main or by one that is.
func gathered(p []string) bool {
	switch {
	case len(p) > 0 && (p[0] == "lib" || p[0] == "main"), len(p) == 2 && p[0] == "protect":
		return true
	case len(p) == 3 && p[0] == "reap":
		return kindOf(p[1]) != ""
	}
	return false
}

// anyKind stands in a folder's name for a kind that has to be chosen.
const anyKind = "<kind>"

func kindsHint(folder string) string {
	if !strings.Contains(folder, anyKind) {
		return ""
	}
	return "; " + anyKind + " is one of " + strings.Join(snapshot.RuleFolders(), ", ")
}

// kindMeant is the folder of a kind that was meant by another name: the kind's own name, or one that is near; else what the rules speak of.
func (m module) kindMeant(written string) string {
	for _, k := range snapshot.Kinds {
		if written == k.Name {
			return k.Plural
		}
	}
	for _, f := range snapshot.RuleFolders() {
		if lint.IsNear(written, f) {
			return f
		}
	}
	return m.plural()
}

// home is the folder in which a file's rules would be asked: that of its package where something asks that, else one by the file's
// name, for the family and the kind that its rules speak of.
func (m module) home(have []string) string {
	if gathered(have) {
		return strings.Join(have, "/")
	}
	name := strings.TrimSuffix(path.Base(m.file.Path), ".rego")
	for _, r := range m.Rules {
		switch string(r.Head.Name) {
		case ObjectionsRule:
			return "protect/" + name
		case FindingsRule, ScopeRule:
			return "reap/" + m.plural() + "/" + name
		}
	}
	return "lib/" + name
}

// plural is the kind that a file's rules speak of, <kind> where they speak of none or of several.
func (m module) plural() string {
	found := map[string]bool{}
	ast.WalkRefs(m.Module, func(r ast.Ref) bool {
		if len(r) < 2 || !r.HasPrefix(ast.InputRootRef) {
			return false
		}
		for _, k := range snapshot.Kinds {
			if r[1].Value.Compare(ast.String(k.Name)) == 0 {
				found[k.Plural] = true
			}
		}
		return false
	})
	for plural := range found {
		if len(found) == 1 {
			return plural
		}
	}
	return anyKind
}

// outputs are what a package must say, by family: a complete rule, or a partial set of reasons.
var outputs = map[string]struct{ set, complete string }{
	"reap":    {set: FindingsRule, complete: ScopeRule},
	"protect": {set: ObjectionsRule},
}

func forms(modules []module) lint.Refusals {
	var refused lint.Refusals
	said := map[string]map[string]bool{}
	for _, m := range modules {
		path := policyPath(m.Package)
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
		path := policyPath(m.Package)
		if len(path) == 0 {
			continue
		}
		for _, want := range []string{outputs[path[0]].set, outputs[path[0]].complete} {
			if id := strings.Join(path, "."); want != "" && !said[id][want] {
				said[id][want] = true
				refused = append(refused, m.refuse(lint.ClassMissing, m.Package.Location, fmt.Sprintf("package policies.%s has no rule %s", id, want),
					"write one; without it nothing in the package is ever asked"))
			}
		}
	}
	return refused
}

// form holds an output to its shape.
func (m module) form(r *ast.Rule, family, id string) lint.Refusals {
	switch string(r.Head.Name) {
	case outputs[family].set:
		if r.Head.RuleKind() != ast.MultiValue || len(r.Head.Reference) != 1 || len(r.Head.Args) > 0 {
			return lint.Refusals{m.refuse(lint.ClassReason, r.Location, fmt.Sprintf("%s is not a set of reasons", r.Head.Name),
				fmt.Sprintf(`write %s contains {"message": ..., "evidence": {...}} if ...`, r.Head.Name))}
		}
		return m.reason(r, id)
	case outputs[family].complete:
		if r.Head.RuleKind() != ast.SingleValue || len(r.Head.Reference) != 1 || len(r.Head.Args) > 0 || !isTrue(r) {
			return lint.Refusals{m.refuse(lint.ClassReason, r.Location, "in_scope is neither true nor undefined", "write in_scope if ...")}
		}
	}
	return nil
}

// lacks says what of a reason is missing, and what is too much. A key that is a variable is no key of a reason, by any name.
func lacks(reason ast.Object) string {
	var words []string
	for _, k := range []string{"message", "evidence"} {
		if reason.Get(ast.StringTerm(k)) == nil {
			words = append(words, "without "+k)
		}
	}
	reason.Foreach(func(k, _ *ast.Term) {
		if s, constant := k.Value.(ast.String); !constant || !slices.Contains([]string{"rule", "message", "evidence"}, string(s)) {
			words = append(words, "with an unknown "+lint.ValueText(k.Value))
		}
	})
	return strings.Join(words, ", ")
}

func isTrue(r *ast.Rule) bool {
	v := r.Head.Value
	return v != nil && (v.Equal(ast.InternedBooleanTrue) || r.Default && v.Equal(ast.InternedBooleanFalse))
}

// reason wants the parts of a reason in the head. Its rule is the package's path; where it is written all the same, it must be that.
func (m module) reason(r *ast.Rule, id string) lint.Refusals {
	const fix = `write contains {"message": ..., "evidence": {...}}`
	if call, ok := r.Head.Key.Value.(ast.Call); ok && strings.HasPrefix(call[0].String(), "reasons.keep") { // lib/reasons
		return nil
	}
	o, ok := r.Head.Key.Value.(ast.Object)
	if !ok {
		return lint.Refusals{m.refuse(lint.ClassReason, r.Location, fmt.Sprintf("%s holds something that is not written as a reason", r.Head.Name), fix)}
	}
	if wrong := lacks(o); wrong != "" {
		return lint.Refusals{m.refuse(lint.ClassReason, r.Location, "a reason "+wrong, fix)}
	}
	if rule := o.Get(ast.StringTerm("rule")); rule != nil && !rule.Equal(ast.StringTerm(id)) {
		return lint.Refusals{m.refuse(lint.ClassReason, r.Location, fmt.Sprintf("rule %s is not its package", rule), fix)}
	}
	return nil
}

// LayerFile is the file at the root of a tree that says what the tree wants of levels and parameters, and what it grants to the layers below it.
// OPA's tools leave such a file out of a bundle and keep what is in the manifest: there the same text stands under metadata.winnow.layer.
const LayerFile = "layer.yaml"

// MetadataKey is where in the metadata of a manifest Winnow's own part stands, and layerKey where in that the text of a layer.yaml does.
const (
	MetadataKey = "winnow"
	layerKey    = "layer"
)

var errLayer = errors.New("nothing would read it there: it is called " + LayerFile + ", and stands at the root of the tree")

// misplacedLayer reports whether a file is meant for a layer.yaml and would not be read as one.
func misplacedLayer(p string) bool {
	return p != LayerFile && slices.Contains([]string{LayerFile, "layer.yml", "layers.yaml", "layers.yml"}, path.Base(p))
}

// LayerOf is what a loaded tree says as a layer: its layer.yaml, or the text of one in its manifest; false where it says nothing.
func (p *Policy) LayerOf(tree string) (File, bool) {
	layer, _ := layerOf(slices.DeleteFunc(slices.Clone(p.Files), func(f File) bool { return f.Tree != tree }))
	return layer, layer.Path != ""
}

// layerOf finds what the files of a tree say as a layer; the file is empty where they say nothing. One place is right: of two, one could be
// overlooked.
func layerOf(files []File) (layer File, refused lint.Refusals) {
	for _, f := range files {
		text, name := f.data, f.Name
		switch f.Path {
		case LayerFile:
		case manifestName:
			var m manifest
			if json.Unmarshal(f.data, &m) != nil {
				continue // readManifest says what is wrong with it
			}
			if text, _ = m.layer(); len(text) == 0 {
				continue
			}
			if text[0] != '{' { // what a layer.yaml was put there from
				name = path.Join(path.Dir(f.Name), LayerFile)
			}
		default:
			continue
		}
		if layer.Path != "" {
			refused = append(refused, lint.Refusal{Class: lint.ClassLayer, File: f.Name, Problem: "the tree says in two places what it is as a layer, here and in " + layer.Name,
				Fix: "keep " + LayerFile + ", or metadata.winnow.layer of the manifest"})
			continue
		}
		layer = File{Tree: f.Tree, Path: f.Path, Name: name, data: text}
	}
	return layer, refused
}

// layer is the text of a layer.yaml in a manifest, nil when it is missing: as a text, or written out, since JSON is YAML.
func (m manifest) layer() ([]byte, error) {
	raw, ok := m.Metadata[MetadataKey]
	if !ok {
		return nil, nil
	}
	var own map[string]json.RawMessage
	if err := json.Unmarshal(raw, &own); err != nil {
		return nil, errors.New("metadata.winnow is no object")
	}
	at, ok := own[layerKey]
	if !ok {
		return nil, nil
	}
	var text string
	if json.Unmarshal(at, &text) == nil {
		return []byte(text), nil
	}
	return at, nil
}

// WithLayer puts the text of a layer.yaml into the metadata of a manifest, where OPA's tools keep it.
func WithLayer(metadata map[string]any, text []byte) {
	own, _ := metadata[MetadataKey].(map[string]any)
	if own == nil {
		own = map[string]any{}
	}
	own[layerKey] = string(text)
	metadata[MetadataKey] = own
}
