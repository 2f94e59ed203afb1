package policy

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// prepared is what the building of one tree found out, so that the tree can be decided by without being built: its rules are compiled when somebody asks
// for them, and until then there is the plan.
type prepared struct {
	// Digest is that of the sources that it was made of: see Sources.Digest. For others it says nothing.
	Digest string `json:"digest"`
	// Packages are the paths of all packages below policies, in the order in which they are asked.
	Packages []string            `json:"packages"`
	Rules    map[string]Rule     `json:"rules"`
	About    map[string][]string `json:"about"` // see Policy.About
	plan     []byte
}

var errPrepared = errors.New("what was prepared of the policies is damaged")

// Prepare writes down what building found out about a policy, with OPA's plan of its rules as engine/plan encodes it. Whoever can write such bytes says which
// rules there are: they come with the program, or lie where only this user writes.
func (p *Policy) Prepare(plan []byte) ([]byte, error) {
	if p.compiler == nil || p.sources == nil {
		return nil, errors.New("prepare policies: they were not built here")
	}
	out := prepared{Digest: p.sources.Digest(), Rules: p.rules, About: p.about}
	for _, k := range snapshot.Kinds {
		for _, r := range p.reap[k.Name] {
			out.Packages = append(out.Packages, r.ID)
		}
	}
	for _, r := range p.protect {
		out.Packages = append(out.Packages, r.ID)
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("prepare policies: %w", err)
	}
	return append(append(binary.AppendUvarint(nil, uint64(len(text))), text...), plan...), nil
}

func readPrepared(data []byte) (*prepared, error) {
	n, size := binary.Uvarint(data)
	if size <= 0 || n > uint64(len(data)-size) {
		return nil, errPrepared
	}
	p := &prepared{plan: data[size+int(n):]}
	if err := json.Unmarshal(data[size:size+int(n)], p); err != nil {
		return nil, fmt.Errorf("%w: %w", errPrepared, err)
	}
	return p, nil
}

// unbuilt is the policy of the sources by what was prepared of them; nil where that was of other files.
func (s *Sources) unbuilt() *Policy {
	if len(s.prepared) == 0 || len(s.refused) > 0 {
		return nil
	}
	known, err := readPrepared(s.prepared)
	if err != nil || known.Digest != s.Digest() {
		return nil
	}
	p := s.Unbuilt(known.Rules)
	for _, id := range known.Packages {
		p.sort(strings.Split(id, "."))
	}
	p.about, p.plan, p.sources = known.About, known.plan, s
	return p
}

// Digest is that of all that the building of the sources rests on: what the files hold, what they are called, and what their trees may do.
func (s *Sources) Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", digest(s.trees))
	for _, t := range s.trees {
		fmt.Fprintf(h, "%q %q %t %t %t %q\n", t.tree.Name, t.tree.Prefix, t.tree.Beside, t.tree.Bundled, t.tree.Published, t.tree.Only)
		for _, f := range t.files {
			fmt.Fprintf(h, "%q\n", f.Name)
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Use has the sources built from what was prepared of them, if it was of them.
func (s *Sources) Use(prepared []byte) { s.prepared = prepared }

// Built reports whether the rules are compiled.
func (p *Policy) Built() bool { return p.built.Load() }

// Plan is OPA's plan of the rules as engine/plan encodes it, where one was prepared; nil otherwise.
func (p *Policy) Plan() []byte { return p.plan }

// Build compiles the rules, where that was not done yet. It is for whoever asks Compiler of a policy that may have been prepared, and may be called by
// many at once.
func (p *Policy) Build() error {
	p.building.Do(func() {
		if p.sources == nil || p.compiler != nil {
			return
		}
		built, _, refused := p.sources.build(context.Background(), func(string) {})
		if p.broken = refused.Err(); p.broken == nil {
			p.compiler = built.compiler
			p.built.Store(true)
		}
	})
	return p.broken
}

// checks are the stages of OPA's compiler that only refuse, or find out what those need. What was prepared passed them before.
var checks = []ast.StageID{
	ast.StageParseMetadataBlocks, ast.StageSetAnnotationSet, ast.StageSetGraph,
	ast.StageCheckUnusedImports, ast.StageCheckKeywordOverrides, ast.StageCheckDuplicateImports, ast.StageCheckVoidCalls, ast.StageCheckRuleConflicts,
	ast.StageCheckUndefinedFuncs, ast.StageCheckSafetyRuleHeads, ast.StageCheckRecursion, ast.StageCheckTypes, ast.StageCheckUnsafeBuiltins,
	ast.StageCheckDeprecatedBuiltins, ast.StageBuildRequiredCapabilities,
}

// packageLine is the line of a file that says its package, as `opa fmt` writes it.
var packageLine = regexp.MustCompile(`(?m)^package ([\w.]+)$`)

// CompilerFor has rules compiled that are asked of a kind, by their paths, with the packages that they lean on; of a policy that was prepared nothing else,
// and without the checks that it passed then.
func (p *Policy) CompilerFor(kind string, paths []string) (*ast.Compiler, error) {
	if p.Built() {
		return p.compiler, nil
	}
	left, foreign := map[string][]File{}, map[string]bool{}
	for of, packages := range p.reap {
		for _, pkg := range packages { // no rule finds those by what its own candidate is
			foreign[pkg.Ref.String()] = of != kind
		}
	}
	for _, f := range p.Files {
		name := "data" // what has no such line may be any package
		if line := packageLine.FindSubmatch(f.data); line != nil {
			name += "." + string(line[1])
		}
		if path.Ext(f.Name) == ".rego" && !foreign[name] {
			left[name] = append(left[name], f)
		}
	}
	all := map[string]*ast.Module{}
	for ; len(paths) > 0; paths = paths[1:] {
		for name, files := range left {
			if !strings.HasPrefix(name+".", paths[0]+".") && !strings.HasPrefix(paths[0]+".", name+".") {
				continue
			}
			delete(left, name)
			for _, f := range files {
				m, err := ast.ParseModuleWithOpts(f.Name, string(f.data), ast.ParserOptions{Capabilities: lint.Capabilities()})
				if err != nil {
					return nil, fmt.Errorf("load policies: %w", err)
				}
				all[f.Name] = m
				ast.WalkRefs(m, func(r ast.Ref) bool {
					if r[0].Equal(ast.DefaultRootDocument) {
						constant, _, _ := strings.Cut(r.ConstantPrefix().String(), "[")
						paths = append(paths, constant)
					}
					return false
				})
			}
		}
	}
	c := ast.NewCompiler().WithCapabilities(lint.Capabilities()).WithSkipStages(checks...)
	if c.Compile(all); c.Failed() {
		return nil, fmt.Errorf("load policies: %w", c.Errors)
	}
	return c, nil
}

// about finds which kinds each objecting package is about: those that some objection of it does not rule out before all else.
func (p *Policy) findAbout() {
	p.about = map[string][]string{}
	for _, pkg := range p.protect {
		for _, r := range p.compiler.GetRulesExact(pkg.Ref.Append(ast.StringTerm(ObjectionsRule))) {
			for _, k := range snapshot.Kinds {
				holds, asked := asksKind(r.Body[0], k.Name)
				if (holds || !asked) && !p.About(pkg, k.Name) {
					p.about[pkg.ID] = append(p.about[pkg.ID], k.Name)
				}
			}
		}
	}
}

// asksKind reports whether an expression asks that the candidate be of one kind, or of any but one, and whether that holds.
func asksKind(e *ast.Expr, kind string) (holds, ok bool) {
	other := e.IsCall() && e.Operator().Equal(ast.NotEqual.Ref())
	if e.Negated || len(e.With) > 0 || !e.IsEquality() && !other {
		return false, false
	}
	a, b := e.Operand(0).Value, e.Operand(1).Value
	if _, constant := a.(ast.String); constant {
		a, b = b, a
	}
	ref, isRef := a.(ast.Ref)
	want, constant := b.(ast.String)
	asked := isRef && constant && ref.Equal(ast.InputRootRef.Append(ast.StringTerm("kind")))
	return (string(want) == kind) != other, asked
}
