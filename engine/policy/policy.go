// Package policy loads rules: it reads their files, parses, checks and compiles them, and refuses what could make a verdict harsher
// than it should be, or the evaluation slower than linear. It reads nothing but those files, and asks no rule.
package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"winnow/engine/snapshot"
	"winnow/engine/subject"
)

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
	reap     map[string][]Package // by kind
	protect  []Package
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
	// Needs are what its METADATA says that it needs to find anything, in the words of `winnow doctor`.
	Needs []string `json:"needs,omitempty"`
	// Own are the parameters that its package declares.
	Own []Parameter `json:"own,omitempty"`
}

// Package gives findings or objections.
type Package struct {
	Ref ast.Ref // data.policies....
	ID  string
}

// The rules of a package that are asked: whether a candidate is one of those that it is about, and the reasons that it gives.
const (
	ScopeRule      = "in_scope"
	FindingsRule   = "findings"
	ObjectionsRule = "objections"
)

// Load reads, checks and compiles policies. It changes nothing and asks nobody. Every problem it finds is in the error, which
// wraps Refusals; a policy with a problem is not loaded in part.
func Load(ctx context.Context, o LoadOptions) (*Policy, error) {
	s, err := Read(ctx, o)
	if err != nil {
		return nil, err
	}
	return s.Build(ctx, func(string) {})
}

// Sources are policies that were read, and not parsed yet. As JSON they are the names of what was read; Send writes the rest.
type Sources struct {
	trees   []*read
	refused Refusals
}

// Err says what could not be read; it wraps Refusals.
func (s *Sources) Err() error { return s.refused.Err() }

// Unbuilt is the policy that is built from the sources somewhere else, where it has these rules. It can say what it is, and cannot be
// asked.
func (s *Sources) Unbuilt(rules map[string]Rule) *Policy {
	p := &Policy{Revision: revision(s.trees), Digest: digest(s.trees), reap: map[string][]Package{}, rules: rules}
	for _, t := range s.trees {
		p.Files = append(p.Files, t.files...)
	}
	return p
}

// Read reads what there is to load. The error is only for a ctx that ended: a reading that was cut short refuses nothing.
func Read(ctx context.Context, o LoadOptions) (*Sources, error) {
	var trees []*read
	var refused Refusals
	left := &budget{files: maxFiles, bytes: maxBytes, entries: MaxPolicyEntries}
	for _, t := range o.Trees {
		r, rs := readTree(ctx, t, left)
		trees, refused = append(trees, r), append(refused, rs...)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load policies: %w", err)
	}
	if len(o.Trees) == 0 {
		refused = append(refused, Refusal{File: "policy", Problem: "no policies", Fix: "use the embedded ones, or name a folder"})
	}
	rename(trees)
	return &Sources{trees, refused}, nil
}

// Build makes a policy of what was read. step is told what is done next, by the file that it is done to or in a word, for whoever
// has to say where the building came to no end.
func (s *Sources) Build(ctx context.Context, step func(string)) (*Policy, error) {
	modules, refused := parse(ctx, s.trees, step)
	if err := slices.Concat(s.refused, refused).Err(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load policies: %w", err)
	}
	own, wrong := declared(modules)
	refused = slices.Concat(place(modules), LintSafety(parsed(modules)...), wrong, wrongOwn(modules, own))
	if err := refused.Err(); err != nil {
		return nil, err
	}
	return s.compile(ctx, modules, own, step)
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
	o := ast.ParserOptions{ProcessAnnotation: true, Capabilities: Capabilities()}
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

func (s *Sources) compile(ctx context.Context, modules []module, own map[string]Parameter, step func(string)) (*Policy, error) {
	p := s.Unbuilt(nil)
	for _, path := range packages(modules) {
		p.sort(path)
	}
	all := map[string]*ast.Module{}
	for _, m := range modules {
		all[m.file.Name] = m.Module
	}
	c, err := newCompiler(own)
	if err != nil {
		return nil, err
	}
	step("all of them together")
	if c.Compile(all); c.Failed() {
		return nil, fromOPA("policy", c.Errors).Err()
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load policies: %w", err)
	}
	p.compiler = c
	refused := append(p.incomplete(s.trees), dangling(c, modules)...)
	if err := refused.Err(); err != nil {
		return nil, err
	}
	p.rules = p.describe(modules)
	return p, nil
}

// Compile compiles the rules of a folder that the program brings itself, without its tests. They are held to the same built-ins as all
// others; nothing gathers them. That they read no field that does not exist is for opa check to see, which takes longer than all else.
func Compile(files fs.FS) (*ast.Compiler, error) {
	all, o := map[string]*ast.Module{}, ast.ParserOptions{Capabilities: Capabilities()}
	err := fs.WalkDir(files, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".rego" || strings.HasSuffix(name, "_test.rego") {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		all[name], err = ast.ParseModuleWithOpts(name, string(text), o)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("load policies: %w", err)
	}
	c := ast.NewCompiler().WithCapabilities(o.Capabilities).WithStrict(true)
	if c.Compile(all); c.Failed() {
		return nil, fmt.Errorf("load policies: %w", c.Errors)
	}
	return c, nil
}

// newCompiler is strict, checks every input reference against the closed schema, with the parameters that rules declare in it, and knows no
// built-in but the allowed ones.
func newCompiler(own map[string]Parameter) (*ast.Compiler, error) {
	var s any
	if err := json.Unmarshal(subject.JSONSchema(), &s); err != nil {
		return nil, fmt.Errorf("load policies: read the subject's schema: %w", err)
	}
	set := ast.NewSchemaSet()
	set.Put(ast.SchemaRootRef, closed(s, own))
	return ast.NewCompiler().WithCapabilities(Capabilities()).WithSchemas(set).
		WithUseTypeCheckAnnotations(false).WithStrict(true), nil
}

// sort files a package under what it gives; path is what comes after policies.
func (p *Policy) sort(path []string) {
	ref := ast.Ref{ast.DefaultRootDocument, ast.StringTerm(root)}
	for _, s := range path {
		ref = append(ref, ast.StringTerm(s))
	}
	this := Package{Ref: ref, ID: strings.Join(path, ".")}
	switch path[0] {
	case "reap":
		kind, _ := snapshot.KindOfRules(path[1])
		p.reap[kind.Name] = append(p.reap[kind.Name], this)
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

// Compiler has the rules as they are written, compiled; nil for a policy that was built somewhere else. It is read-only.
func (p *Policy) Compiler() *ast.Compiler { return p.compiler }

// Kinds are the kinds of candidate that some package is about, sorted.
func (p *Policy) Kinds() []string { return slices.Sorted(maps.Keys(p.reap)) }

// Reap are the packages that find reasons to reap a kind, Protect those that object.
func (p *Policy) Reap(kind string) []Package { return p.reap[kind] }

// Protect are the packages that object.
func (p *Policy) Protect() []Package { return p.protect }

// Line is a line of a file that was loaded, without the space around it; false where there is no such line.
func (p *Policy) Line(file string, row int) (string, bool) {
	i := slices.IndexFunc(p.Files, func(f File) bool { return f.Name == file })
	if i < 0 {
		return "", false
	}
	for line := range bytes.Lines(p.Files[i].data) {
		if row--; row == 0 {
			return string(bytes.TrimSpace(line)), true
		}
	}
	return "", false
}

// Rule is the rule with that id, empty where there is none.
func (p *Policy) Rule(id string) Rule { return p.rules[id] }

// Rules leads from a rule's id to where it stands and what it means.
func (p *Policy) Rules() map[string]Rule { return maps.Clone(p.rules) }
