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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"

	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/policy/metadata"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/policies/schemas"
)

// LoadOptions says where policies come from.
type LoadOptions struct {
	// Trees are stacked: each adds packages to the ones before. No two may define the same package.
	Trees []Tree
	// Tests also reads the tests of the trees that are not Beside, Data the files of data that such tests may read. A policy is built without either.
	Tests, Data bool
	// Cases also reads the cases of the trees that are not Beside: see Sources.Cases.
	Cases bool
	// Prepared is what Policy.Prepare wrote of such trees before. Where it is of the very files that are read, they are not built again.
	Prepared []byte
	// Cache keeps what was prepared of policies that are judged apart; nil keeps nothing.
	Cache Cache
}

// Cache keeps what was prepared of policies from one run of the program to the next, for the same program only: another one may refuse what this one loads.
type Cache interface {
	// Load gives what Store was given last for a digest, byte for byte; nil where that is not certain.
	Load(digest string) []byte
	Store(digest string, prepared []byte)
}

// Policy is a set of policies that was loaded: parsed, checked and compiled, or prepared before by whoever did that. It is read-only.
type Policy struct {
	// Revision joins the revisions of the trees' manifests with a plus sign; empty where none has one.
	Revision string
	// Digest is "sha256:" and the hexadecimal digest of every file in Files.
	Digest string
	// Files are the files that were loaded: policies without tests, manifests and exceptions.
	Files []File

	compiler   *ast.Compiler
	exceptions []snapshot.Keep
	reap       map[string][]Package // by kind
	protect    []Package
	rules      map[string]Rule
	// about has by its id the kinds that an objecting package is about.
	about map[string][]string
	// sources are those that it is of, and plan is what was prepared of them; nil where it was built at once.
	sources  *Sources
	plan     []byte
	building sync.Once
	built    atomic.Bool
	broken   error
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
	// Summaries say how a person is told of its objections; empty where its package declares none.
	Summaries []metadata.Summary `json:"summaries,omitempty"`
	// Custom are the parameters that its package declares.
	Custom []Parameter `json:"custom,omitempty"`
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

// Load reads, checks and compiles policies. It changes nothing and asks no person. Every problem it finds is in the error, which
// wraps Refusals; a policy with a problem is not loaded in part.
func Load(ctx context.Context, o LoadOptions) (*Policy, error) {
	s, err := Read(ctx, o)
	if err != nil {
		return nil, err
	}
	return s.Build(ctx, func(string) {})
}

// Sources are policies that were read, and not parsed yet. As JSON they go to a process that builds a policy of them.
type Sources struct {
	trees    []*read
	refused  lint.Refusals
	prepared []byte
}

// Err says what could not be read; it wraps Refusals.
func (s *Sources) Err() error { return s.refused.Err() }

// Unbuilt is the policy that is built from the sources somewhere else, where it has these rules. It can say what it is, and cannot be
// asked.
func (s *Sources) Unbuilt(rules map[string]Rule) *Policy {
	p := &Policy{Revision: revision(s.trees), Digest: digest(s.trees), reap: map[string][]Package{}, rules: rules, exceptions: s.Exceptions()}
	for _, t := range s.trees {
		p.Files = append(p.Files, t.files...)
	}
	return p
}

// Read reads what there is to load. The error is only for a ctx that ended: a reading that was cut short refuses nothing.
func Read(ctx context.Context, o LoadOptions) (*Sources, error) {
	var trees []*read
	var refused lint.Refusals
	left := newBudget()
	for _, t := range o.Trees {
		r, rs := readTree(ctx, t, o, left)
		trees, refused = append(trees, r), append(refused, rs...)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load policies: %w", err)
	}
	if len(o.Trees) == 0 {
		refused = append(refused, lint.Refusal{Class: lint.ClassEmpty, File: "policy", Problem: "no policies", Fix: "use the embedded ones, or name a folder"})
	}
	rename(trees)
	return &Sources{trees, refused, o.Prepared}, nil
}

// Build makes a policy of what was read. step is told what is done next, by the file that it is done to or in a word, for whoever
// has to say where the building came to no end.
func (s *Sources) Build(ctx context.Context, step func(string)) (*Policy, error) {
	if p := s.unbuilt(); p != nil {
		return p, nil
	}
	p, _, refused := s.build(ctx, step)
	if err := s.shown(refused).Err(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load policies: %w", err)
	}
	return p, nil
}

// build gives the policy, or all that is wrong with it: what does not parse, or else what the lint and the compiler find. The modules are as
// they were written.
func (s *Sources) build(ctx context.Context, step func(string)) (*Policy, []module, lint.Refusals) {
	modules, refused := parseFiles(ctx, s.trees, (*read).policies, lint.Capabilities(), step)
	if refused = slices.Concat(s.refused, refused); len(refused) > 0 || ctx.Err() != nil {
		return nil, modules, refused
	}
	own, wrong := declared(modules)
	linted := slices.Concat(place(modules), lint.Safety(parsed(modules)...))
	wrong = slices.Concat(wrong, wrongOwn(modules, own))
	misplaced := slices.ContainsFunc(linted, func(r lint.Refusal) bool { return r.Class == lint.ClassPlace || r.Class == lint.ClassDuplicate })
	if misplaced || len(wrong) > 0 { // the compiler would find each use of such a package or parameter
		return nil, modules, slices.Concat(linted, wrong)
	}
	p, refused := s.compile(ctx, modules, own, step)
	return p, modules, slices.Concat(linted, refused)
}

// shown gives each refusal the line that it is about.
func (s *Sources) shown(refused lint.Refusals) lint.Refusals {
	files := map[string][]byte{}
	for _, t := range s.trees {
		for _, f := range slices.Concat(t.files, t.tests) {
			files[f.Name] = f.data
		}
	}
	for i, r := range refused {
		whole, ok := line(files[r.File], r.Line)
		for !ok && r.Class == lint.ClassSyntax && r.Line > 1 { // the parser means the end, behind the last line that there is
			r.Line, r.Column = r.Line-1, 0
			if whole, ok = line(files[r.File], r.Line); ok {
				refused[i].Line, refused[i].Column = r.Line, 0
			}
		}
		if ok {
			refused[i].Text = lint.Shorten(strings.ToValidUTF8(string(bytes.TrimSpace(whole)), "\uFFFD"), maxText)
			refused[i].At = r.Column - (len(whole) - len(bytes.TrimLeft(whole, " \t")))
			if refused[i].At < 1 || refused[i].At > len(refused[i].Text) {
				refused[i].At = 0
			}
		}
	}
	return refused
}

// maxErrors is how many errors one run of the compiler gives.
const maxErrors = 1000

// maxText is how many bytes of a line are shown.
const maxText = 300

// rename gives files that two trees call the same a name of their own.
func rename(trees []*read) {
	taken := map[string]bool{}
	for _, t := range trees {
		for _, files := range [][]File{t.files, t.tests, t.data, t.cases} {
			for i := range files {
				f := &files[i]
				if taken[f.Name] {
					f.Name = t.tree.Name + ":" + f.Name
				}
				taken[f.Name] = true
			}
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

// parseFiles parses those files of the trees that of gives.
func parseFiles(ctx context.Context, trees []*read, of func(*read) []File, allowed *ast.Capabilities, step func(string)) ([]module, lint.Refusals) {
	var modules []module
	var refused lint.Refusals
	o := ast.ParserOptions{ProcessAnnotation: true, Capabilities: allowed}
	for _, t := range trees {
		for _, f := range of(t) {
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
			case m == nil && (err == nil || lint.IsEmpty(err)):
				refused = append(refused, lint.Refusal{Class: lint.ClassEmpty, File: f.Name, Problem: "an empty file", Fix: "write a policy in it, or remove it"})
			case err != nil:
				refused = append(refused, lint.FromOPA(f.Name, err)...)
			default:
				modules = append(modules, module{m, f, t})
			}
		}
	}
	return modules, refused
}

func (s *Sources) compile(ctx context.Context, modules []module, own map[string]Parameter, step func(string)) (*Policy, lint.Refusals) {
	p := s.Unbuilt(nil)
	for _, path := range packages(modules) {
		p.sort(path)
	}
	step("all of them together")
	c := newCompiler(own, lint.Capabilities())
	if c.Compile(byName(modules)); c.Failed() {
		return nil, lint.FromOPA("policy", append(c.Errors, lenient(own, modules)...))
	}
	if ctx.Err() != nil {
		return nil, nil
	}
	p.compiler, p.sources = c, s
	p.built.Store(true)
	p.rules = p.describe(modules)
	p.findAbout()
	return p, slices.Concat(p.incomplete(s.trees), dangling(c, modules), s.idle(modules, p.rules), mixed(c, modules, snapshot.KindNames()))
}

// lenient is what the compiler says besides when it is not strict: what only the strict one refuses comes before the check of types, and hides what that
// would say.
func lenient(own map[string]Parameter, modules []module) ast.Errors {
	c := newCompiler(own, lint.Capabilities()).WithStrict(false)
	c.Compile(byName(modules))
	return c.Errors
}

func byName(modules []module) map[string]*ast.Module {
	all := map[string]*ast.Module{}
	for _, m := range modules {
		all[m.file.Name] = m.Module
	}
	return all
}

// Compile compiles the rules of a folder that the program brings itself, without its tests. They are held to the same built-ins as all
// others; nothing gathers them. That they read no field that does not exist is for opa check to see, which takes longer than all else.
func Compile(files fs.FS) (*ast.Compiler, error) {
	all, o := map[string]*ast.Module{}, ast.ParserOptions{Capabilities: lint.Capabilities()}
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

// newCompiler is strict, checks references to the input against the closed schema with the rules' parameters, and knows the allowed built-ins.
func newCompiler(own map[string]Parameter, allowed *ast.Capabilities) *ast.Compiler {
	var s any
	if err := json.Unmarshal(schemas.Subject, &s); err != nil {
		panic(fmt.Sprintf("the subject's schema is no JSON: %v", err)) // it is generated, and part of the program
	}
	set := ast.NewSchemaSet()
	set.Put(ast.SchemaRootRef, closed(s, own))
	return ast.NewCompiler().SetErrorLimit(maxErrors).WithCapabilities(allowed).WithSchemas(set).
		WithUseTypeCheckAnnotations(false).WithStrict(true)
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

// incomplete refuses what could only spare everything in silence, or reap without any objection.
func (p *Policy) incomplete(trees []*read) lint.Refusals {
	var refused lint.Refusals
	where := trees[0].tree.place()
	if len(p.reap) == 0 {
		refused = append(refused, lint.Refusal{Class: lint.ClassEmpty, File: where, Problem: "no package under policies.reap", Fix: "add one, or load the embedded policies too"})
	}
	if len(p.protect) == 0 {
		refused = append(refused, lint.Refusal{Class: lint.ClassEmpty, File: where, Problem: "no package under policies.protect", Fix: "add one, or load the embedded policies too"})
	}
	return refused
}

// Compiler has the rules as they are written, compiled; nil for a policy that was built somewhere else, and before Build of one that was prepared. It
// is read-only.
func (p *Policy) Compiler() *ast.Compiler { return p.compiler }

// Kinds are the kinds of candidate that some package is about, sorted.
func (p *Policy) Kinds() []string { return slices.Sorted(maps.Keys(p.reap)) }

// Reap are the packages that find reasons to reap a kind, Protect those that object.
func (p *Policy) Reap(kind string) []Package { return p.reap[kind] }

// Protect are the packages that object.
func (p *Policy) Protect() []Package { return p.protect }

// About reports whether an objecting package may object to a kind at all.
func (p *Policy) About(pkg Package, kind string) bool { return slices.Contains(p.about[pkg.ID], kind) }

// Bytes are what a file that was loaded holds, by its name; nil where there is no such file. They are read-only.
func (p *Policy) Bytes(file string) []byte {
	i := slices.IndexFunc(p.Files, func(f File) bool { return f.Name == file })
	if i < 0 {
		return nil
	}
	return p.Files[i].data
}

// Line is a line of a file that was loaded, without the space around it; false where there is no such line.
func (p *Policy) Line(file string, row int) (string, bool) {
	whole, ok := line(p.Bytes(file), row)
	return string(bytes.TrimSpace(whole)), ok
}

// line is a line of a file, counted from 1, with the space around it.
func line(data []byte, row int) ([]byte, bool) {
	for line := range bytes.Lines(data) {
		if row--; row == 0 {
			return line, true
		}
	}
	return nil, false
}

// Rule is the rule with that id, empty when it is missing.
func (p *Policy) Rule(id string) Rule { return p.rules[id] }

// Rules leads from a rule's id to where it stands and what it means.
func (p *Policy) Rules() map[string]Rule { return maps.Clone(p.rules) }

// quoted finds a text of Rego, raw or not, and a comment, in which quotes mean nothing.
var quoted = regexp.MustCompile("#[^\n]*|`[^`]*`|\"(?:[^\"\\\\\n]|\\\\.)*\"")

// Texts gives every text that stands in the policies, sorted, each once: what names may be compared with. The files are not parsed for it.
func (p *Policy) Texts() []string {
	var out []string
	for _, f := range p.Files {
		if path.Ext(f.Path) == ".rego" {
			out = texts(out, f.data)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TextsIn is Texts of the policies in a folder that the program brings itself, its tests left out.
func TextsIn(files fs.FS) ([]string, error) {
	var out []string
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".rego" || strings.HasSuffix(name, "_test.rego") {
			return err
		}
		data, err := fs.ReadFile(files, name)
		out = texts(out, data)
		return err
	})
	slices.Sort(out)
	return slices.Compact(out), err
}

func texts(out []string, data []byte) []string {
	for _, lit := range quoted.FindAllString(string(data), -1) {
		switch {
		case strings.HasPrefix(lit, "#"):
		case strings.HasPrefix(lit, "`"):
			out = append(out, strings.Trim(lit, "`"))
		default:
			if text, err := strconv.Unquote(lit); err == nil {
				out = append(out, text)
			}
		}
	}
	return out
}

// Format tells of each policy and test what it holds and what it would be as `opa fmt` writes it, and ends at an error of tell. The error wraps
// Refusals else: of the files that are not Rego.
func (s *Sources) Format(ctx context.Context, tell func(name string, old, formatted []byte) error) error {
	refused := slices.Clone(s.refused)
	o := ast.ParserOptions{RegoVersion: ast.RegoV1, Capabilities: ast.CapabilitiesForThisVersion()}
	for _, t := range s.trees {
		for _, f := range slices.Concat(t.policies(), t.tests) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if rs := scan(f); len(rs) > 0 {
				refused = append(refused, rs...)
				continue
			}
			text, err := formatted(f, &o)
			if err != nil {
				refused = append(refused, lint.FromOPA(f.Name, err)...)
				continue
			}
			if err := tell(f.Name, f.data, text); err != nil {
				return err
			}
		}
	}
	return s.shown(refused).Err()
}

// formatted is a file as `opa fmt` writes it. Like that, it reads the result once more.
func formatted(f File, o *ast.ParserOptions) ([]byte, error) {
	text, err := format.SourceWithOpts(f.Name, f.data, format.Opts{RegoVersion: ast.RegoV1, ParserOptions: o, Capabilities: o.Capabilities})
	if err != nil {
		return nil, err
	}
	if _, err := ast.ParseModuleWithOpts(f.Name, string(text), *o); err != nil {
		return nil, fmt.Errorf("the formatted text is no Rego any more, which is a mistake of OPA's formatter: %w", err)
	}
	return text, nil
}
