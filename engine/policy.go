package engine

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"winnow/engine/snapshot"
)

//go:embed subject/schema.json
var schema []byte

// Schema is the JSON Schema of a subject, the input of the policies.
func Schema() []byte { return slices.Clone(schema) }

// LoadOptions says where policies come from.
type LoadOptions struct {
	// Trees are stacked: each adds packages to the ones before. No two may define the same package.
	Trees []Tree
}

// Policy is a set of policies that was loaded: parsed, checked and compiled. It is read-only.
type Policy struct {
	// Revision joins the revisions of the trees' manifests with a plus sign; empty where none has one.
	Revision string
	// Digest is "sha256:" and the hexadecimal digest of every file in Files.
	Digest string
	// Files are the files that were loaded: policies without tests, and manifests.
	Files []File

	compiler *ast.Compiler
	fused    *ast.Compiler
	reap     map[string][]pkg // by kind
	protect  []pkg
	rules    map[string]Rule
}

// Rule is a reason that policies can give.
type Rule struct {
	// ID is the package below policies, such as reap.dirs.landed.
	ID string `json:"rule"`
	// File and Line are where its first finding or objection stands.
	File        string `json:"file"`
	Line        int    `json:"line"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Candidates are the classes of candidates that its package is about; empty for all of its kind. See Policy.Candidates.
	Candidates []string `json:"candidates,omitempty"`
}

// pkg is a package that gives findings or objections.
type pkg struct {
	ref ast.Ref // data.policies....
	id  string
}

// plurals leads from the folder below reap to the kind of candidate.
var plurals = map[string]string{
	"tabs": snapshot.KindTab, "sessions": snapshot.KindSession, "terminals": snapshot.KindTerminal,
	"dirs": snapshot.KindDir, "processes": snapshot.KindProcess,
}

// Load reads, checks and compiles policies. It changes nothing and asks nobody. Every problem it finds is in the error, which
// wraps Refusals; a policy with a problem is not loaded in part.
func Load(ctx context.Context, o LoadOptions) (*Policy, error) {
	trees, refused, err := gather(ctx, o)
	if err != nil {
		return nil, err
	}
	return build(ctx, trees, refused, func(string) {})
}

// gather reads what there is to load. The error is only for a ctx that ended: a reading that was cut short refuses nothing.
func gather(ctx context.Context, o LoadOptions) ([]*read, Refusals, error) {
	var trees []*read
	var refused Refusals
	left := &budget{files: maxFiles, bytes: maxBytes, entries: MaxPolicyEntries}
	for _, t := range o.Trees {
		r, rs := readTree(ctx, t, left)
		trees, refused = append(trees, r), append(refused, rs...)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("load policies: %w", err)
	}
	if len(o.Trees) == 0 {
		refused = append(refused, Refusal{File: "policy", Problem: "no policies", Fix: "use the embedded ones, or name a folder"})
	}
	rename(trees)
	return trees, refused, nil
}

// build makes a policy of what was read. step is told what is done next, by the file that it is done to or in a word, for whoever
// has to say where the building came to no end.
func build(ctx context.Context, trees []*read, refused Refusals, step func(string)) (*Policy, error) {
	modules, rs := parse(ctx, trees, step)
	if err := append(refused, rs...).orNil(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load policies: %w", err)
	}
	refused = append(place(modules), LintSafety(parsed(modules)...)...)
	if err := refused.orNil(); err != nil {
		return nil, err
	}
	return compile(ctx, trees, modules, step)
}

// rename gives files that two trees call the same a name of their own.
func rename(trees []*read) {
	taken := map[string]bool{}
	for _, t := range trees {
		for i := range t.files {
			f := &t.files[i]
			if taken[f.Name] {
				f.Name = t.tree.Name + ":" + f.Name
			}
			taken[f.Name] = true
		}
	}
}

// module is a parsed file with the tree that it came from.
type module struct {
	*ast.Module
	file File
	from *read
}

func parsed(modules []module) []*ast.Module {
	out := make([]*ast.Module, len(modules))
	for i, m := range modules {
		out[i] = m.Module
	}
	return out
}

func parse(ctx context.Context, trees []*read, step func(string)) ([]module, Refusals) {
	var modules []module
	var refused Refusals
	o := ast.ParserOptions{ProcessAnnotation: true, Capabilities: capabilities()}
	for _, t := range trees {
		for _, f := range t.policies() {
			if ctx.Err() != nil {
				return nil, refused
			}
			if rs := scan(f); len(rs) > 0 {
				refused = append(refused, rs...)
				continue
			}
			step(f.Name)
			m, err := ast.ParseModuleWithOpts(f.Name, string(f.data), o)
			switch {
			case err != nil:
				refused = append(refused, fromOPA(f.Name, err)...)
			case m == nil:
				refused = append(refused, Refusal{File: f.Name, Problem: "an empty file", Fix: "write a policy in it, or remove it"})
			default:
				modules = append(modules, module{m, f, t})
			}
		}
	}
	return modules, refused
}

func compile(ctx context.Context, trees []*read, modules []module, step func(string)) (*Policy, error) {
	p := &Policy{Revision: revision(trees), Digest: digest(trees), reap: map[string][]pkg{}}
	for _, t := range trees {
		p.Files = append(p.Files, t.files...)
	}
	for _, path := range packages(modules) {
		p.sort(path)
	}
	all := map[string]*ast.Module{}
	for _, m := range modules {
		all[m.file.Name] = m.Module
	}
	c, err := newCompiler()
	if err != nil {
		return nil, err
	}
	step("all of them together")
	if c.Compile(all); c.Failed() {
		return nil, fromOPA("policy", c.Errors).orNil()
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load policies: %w", err)
	}
	p.compiler = c
	refused := append(p.incomplete(trees), dangling(c, modules)...)
	if err := refused.orNil(); err != nil {
		return nil, err
	}
	p.rules = p.describe(modules)
	if p.fused, err = p.fuse(); err != nil {
		return nil, fmt.Errorf("load policies: fuse: %w", err)
	}
	return p, nil
}

// newCompiler is strict, checks every input reference against the closed schema, and knows no built-in but the allowed ones.
func newCompiler() (*ast.Compiler, error) {
	var s any
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("load policies: read the subject's schema: %w", err)
	}
	set := ast.NewSchemaSet()
	set.Put(ast.SchemaRootRef, s)
	return ast.NewCompiler().WithCapabilities(capabilities()).WithSchemas(set).
		WithUseTypeCheckAnnotations(false).WithStrict(true), nil
}

// sort files a package under what it gives; path is what comes after policies.
func (p *Policy) sort(path []string) {
	ref := ast.Ref{ast.DefaultRootDocument, ast.StringTerm(root)}
	for _, s := range path {
		ref = append(ref, ast.StringTerm(s))
	}
	this := pkg{ref: ref, id: strings.Join(path, ".")}
	switch path[0] {
	case "reap":
		kind := plurals[path[1]]
		p.reap[kind] = append(p.reap[kind], this)
	case "protect":
		p.protect = append(p.protect, this)
	}
}

// incomplete refuses what could only spare everything in silence, or reap with nobody to object.
func (p *Policy) incomplete(trees []*read) Refusals {
	var refused Refusals
	where := trees[0].tree.place()
	if len(p.reap) == 0 {
		refused = append(refused, Refusal{File: where, Problem: "no package under policies.reap", Fix: "add one, or load the embedded policies too"})
	}
	if len(p.protect) == 0 {
		refused = append(refused, Refusal{File: where, Problem: "no package under policies.protect", Fix: "add one, or load the embedded policies too"})
	}
	return refused
}

// Rules leads from a rule's id to where it stands and what it means.
func (p *Policy) Rules() map[string]Rule { return maps.Clone(p.rules) }
