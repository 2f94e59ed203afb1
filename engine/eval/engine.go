// Package eval decides. It joins a snapshot into one document a candidate, asks the policies of each, and says spare or reap
// and why. It reads no clock for what it decides and touches nothing: the same snapshot, parameters and policies give the same
// decisions. Policies that this
// program did not bring are evaluated in a process apart.
package eval

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"winnow/engine/policy"
	"winnow/engine/snapshot"
	"winnow/engine/subject"
)

// The limits that hold where Limits leaves them open.
const (
	defaultTimeout = time.Second
	defaultHeap    = 128 << 20
	defaultLoad    = 10 * time.Second
)

// Limits bound each evaluation. What passes one spares its candidate.
type Limits struct {
	// Timeout is how long one evaluation may take; 0 is one second.
	Timeout time.Duration
	// HeapBytes is by how much the heap may grow while one evaluation runs; 0 is 128 MiB.
	HeapBytes uint64
	// Load is how long the processors may work on a loading, of policies that are judged apart; 0 is 10 seconds. The shipped ones
	// take some hundredths of a second.
	Load time.Duration
	// Workers is how many evaluations run at once; 0 is one for each CPU that Go may use, two at most: more gain nothing.
	Workers int
}

// Engine asks a policy. It may be used by many goroutines at once.
type Engine struct {
	policy *policy.Policy
	limits Limits
	kinds  map[string]*query // of an engine that judges apart, the kinds alone
	rest   map[string]*query // what is asked beside another engine: see Pair; nil where nothing is, or where it judges apart
	store  storage.Store
	plan   *plan
	apart  *apart // nil for one that judges in this process
	guests map[string]*guest
	// excepted are the exceptions that they bring.
	excepted []subject.Exception
}

// query is what is asked of every candidate of a kind.
type query struct {
	decide rego.PreparedEvalQuery
	// sets are the variables of decide's answer that hold findings and objections; one is empty where no rule gives any.
	findings, objections string
	// explain asks the rules as they are written, of every candidate, in scope or not; but no package that is for other kinds alone.
	explain rego.PreparedEvalQuery
}

// New prepares the queries of a policy.
func New(p *policy.Policy, l Limits) (*Engine, error) {
	l = l.whole()
	e := &Engine{policy: p, limits: l, kinds: map[string]*query{}, store: inmem.New(), plan: newPlan()}
	fused, err := fuse(p, nil)
	if err != nil {
		return nil, fmt.Errorf("prepare policies: fuse: %w", err)
	}
	for _, kind := range p.Kinds() {
		q := &query{}
		if err := e.prepare(fused, fusedPackage, kind, q); err != nil {
			return nil, fmt.Errorf("prepare policies: %s: %w", kind, err)
		}
		if err := e.prepareExplain(kind, q); err != nil {
			return nil, fmt.Errorf("prepare policies: %s: %w", kind, err)
		}
		e.kinds[kind] = q
	}
	return e, nil
}

// whole fills in what is left open.
func (l Limits) whole() Limits {
	if l.Timeout <= 0 {
		l.Timeout = defaultTimeout
	}
	if l.HeapBytes == 0 {
		l.HeapBytes = defaultHeap
	}
	if l.Load <= 0 {
		l.Load = defaultLoad
	}
	if l.Workers <= 0 {
		l.Workers = min(2, runtime.GOMAXPROCS(0))
	}
	return l
}

// prepare writes the query of a kind that decides, by the rules in a package that was fused. It asks first whether the candidate is in scope, so
// that the others cost next to nothing. A set is always defined, so that it has no answer only for a candidate out of scope.
func (e *Engine) prepare(c *ast.Compiler, pkg, kind string, q *query) (err error) {
	k, _ := snapshot.KindOf(kind)
	fused := fmt.Sprintf("data.%s.%s", pkg, k.Plural)
	parts := []string{fused + "." + policy.ScopeRule}
	for name, v := range map[string]*string{policy.FindingsRule: &q.findings, policy.ObjectionsRule: &q.objections} {
		if len(c.Modules[pkg+"/"+kind].RuleSet(ast.Var(name))) > 0 {
			*v = name
			parts = append(parts, fmt.Sprintf("%s := %s.%s", name, fused, name))
		}
	}
	q.decide, err = e.ready(c, parts)
	return err
}

// prepareExplain writes the query of a kind that explains.
func (e *Engine) prepareExplain(kind string, q *query) (err error) {
	var all []string
	for i, p := range e.policy.Reap(kind) { // a comprehension is defined when what is in it is not
		all = append(all, fmt.Sprintf("s%d := [true | %s.%s]; f%d := %s.%s", i, p.Ref, policy.ScopeRule, i, p.Ref, policy.FindingsRule))
	}
	f := &fuser{compiler: e.policy.Compiler(), kind: kind}
	for i, p := range e.policy.Protect() {
		if !slices.ContainsFunc(f.compiler.GetRulesExact(p.Ref.Append(ast.StringTerm(policy.ObjectionsRule))), f.about) {
			continue
		}
		all = append(all, fmt.Sprintf("o%d := %s.%s", i, p.Ref, policy.ObjectionsRule))
	}
	q.explain, err = e.ready(e.policy.Compiler(), all)
	return err
}

func (e *Engine) ready(c *ast.Compiler, parts []string) (rego.PreparedEvalQuery, error) {
	body, err := ast.ParseBodyWithOpts(strings.Join(parts, "; "), ast.ParserOptions{Capabilities: policy.Capabilities()})
	if err != nil {
		return rego.PreparedEvalQuery{}, err
	}
	return rego.New(rego.Compiler(c), rego.Store(e.store), rego.StrictBuiltinErrors(true), rego.ParsedQuery(body)).
		PrepareForEval(context.Background())
}
