package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/winnow-reaper/winnow/engine/policy"
)

// prints lead from a kind and a rule to a digest of all that what the rule says of candidates of that kind can depend on, besides the document: the
// files of its package and of every package that it refers to, directly or not. Rules with the same print say the same of a document.
//
// A policy has no data besides its files, files are parsed alike, and what is compiled from them depends on nothing else; annotations are those of
// the rule's own file. What comes to hold besides has to come into the print.
type prints map[string]map[string]string

// reaps counts the rules that find something.
func (p prints) reaps(kind string) (n int) {
	for id := range p[kind] {
		if strings.HasPrefix(id, reapPrefix) {
			n++
		}
	}
	return n
}

const reapPrefix = "reap."

func printsOf(p *policy.Policy) prints {
	out, digests := prints{}, map[string]string{}
	for file := range p.Compiler().Modules {
		sum := sha256.Sum256(p.Bytes(file))
		digests[file] = hex.EncodeToString(sum[:])
	}
	for _, kind := range p.Kinds() {
		g := grasp{policy: p, kind: kind, direct: map[string][]string{}}
		out[kind] = map[string]string{}
		for _, r := range slices.Concat(p.Reap(kind), p.Protect()) {
			reached := map[string]bool{}
			for _, file := range g.files(r.Ref) {
				g.reach(file, reached)
			}
			var lines []string
			for file := range reached {
				lines = append(lines, fmt.Sprintf("%s %s\n", p.Compiler().Modules[file].Package.Path, digests[file]))
			}
			slices.Sort(lines)
			sum := sha256.Sum256([]byte(strings.Join(lines, "")))
			out[kind][r.ID] = hex.EncodeToString(sum[:])
		}
	}
	return out
}

// grasp finds the files that what is said of candidates of a kind depends on.
type grasp struct {
	policy *policy.Policy
	kind   string
	direct map[string][]string // from a file to those that it refers to
}

// reach marks a file and all that it refers to, directly or not.
func (g *grasp) reach(file string, reached map[string]bool) {
	if reached[file] {
		return
	}
	reached[file] = true
	if _, known := g.direct[file]; !known {
		g.direct[file] = g.refers(file)
	}
	for _, next := range g.direct[file] {
		g.reach(next, reached)
	}
}

// files are those of a package.
func (g *grasp) files(of ast.Ref) (out []string) {
	for file, m := range g.policy.Compiler().Modules {
		if m.Package.Path.Equal(of) {
			out = append(out, file)
		}
	}
	return out
}

// refers are the files that a file refers to. What it refers to by a variable is all that this can be.
func (g *grasp) refers(file string) []string {
	m := g.policy.Compiler().Modules[file]
	folders, to := holdFolders(m), map[string]bool{}
	ast.WalkRefs(m, func(ref ast.Ref) bool {
		switch {
		case !ref.HasPrefix(ast.DefaultRootRef):
		case asksFindings(ref, folders):
			for _, r := range g.policy.Reap(g.kind) {
				for _, f := range g.files(r.Ref) {
					to[f] = true
				}
			}
		default:
			for _, r := range g.policy.Compiler().GetRulesDynamicWithOpts(ref, ast.RulesOptions{}) {
				to[r.Location.File] = true
			}
		}
		return false
	})
	return slices.Collect(maps.Keys(to))
}

var (
	kindsFolder   = ast.MustParseRef("data.policies.lib.kinds.folders")
	everyFindings = ast.MustParseRef("data.policies.reap")
)

// holdFolders are the variables of a module that hold the folder of the candidate's kind's rules.
func holdFolders(m *ast.Module) map[ast.Var]bool {
	out := map[ast.Var]bool{}
	ast.WalkExprs(m, func(e *ast.Expr) bool {
		if !e.Negated && e.IsEquality() && e.Operand(1).Value.Compare(kindsFolder) == 0 {
			if v, ok := e.Operand(0).Value.(ast.Var); ok && v.IsGenerated() {
				out[v] = true
			}
		}
		return false
	})
	return out
}

// asksFindings reports whether a reference is to the findings of every package of a folder that one of these variables holds.
func asksFindings(ref ast.Ref, folder map[ast.Var]bool) bool {
	if len(ref) < 6 || !ref.HasPrefix(everyFindings) || !ref[5].Equal(ast.StringTerm(policy.FindingsRule)) {
		return false
	}
	kind, ok := ref[3].Value.(ast.Var)
	every, is := ref[4].Value.(ast.Var)
	return ok && is && folder[kind] && every.IsWildcard()
}
