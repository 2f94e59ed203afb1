// Package eval decides. It joins a snapshot into one document a candidate, asks the policies of each, and says spare or reap
// and why. It reads no clock for what it decides and touches nothing: the same snapshot, parameters and policies give the same
// decisions. Policies that this
// program did not bring are evaluated in a process apart.
package eval

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
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
	// Workers is how many evaluations run at once; 0 is one for each CPU that Go may use.
	Workers int
}

// Engine asks a policy. It may be used by many goroutines at once.
type Engine struct {
	policy *policy.Policy
	limits Limits
	kinds  map[string]*query // of an engine that judges apart, the kinds alone
	store  storage.Store
	// program is OPA's plan of the rules, nil where that has something that is not run here: OPA's topdown is asked of everything then.
	program *plan.Program
	// unplanned is why that cannot be run, "" where it can.
	unplanned string
	// planned is the plan that the program was made of here; nil where it was prepared before.
	planned *ir.Policy
	// judge answers what the engine asks: itself, or another process.
	judge Judge
}

// query is what is asked of every candidate of a kind.
type query struct {
	// scope, findings and objections are rules of the engine's program: whether the candidate is in scope, and what gives reasons.
	scope, findings, objections []*plan.Rule
	// stock asks the same of OPA's topdown, and says of each variable of its answer what is in it.
	// inScope asks it for the scope alone, which most candidates are out of.
	stock, inScope lazy[stock]
	// explain asks the rules as they are written, of every candidate, in scope or not; but no package that is for other kinds alone.
	explain lazy[rego.PreparedEvalQuery]
}

// lazy is a question to OPA's evaluator that is prepared when it is asked first: most are never.
type lazy[T any] struct {
	make func() (T, error)
	once sync.Once
	is   T
	err  error
}

// get prepares the question once. Evaluations that run meanwhile are not held to the memory that this takes.
func (l *lazy[T]) get(w *watchdog) (T, error) {
	l.once.Do(func() {
		w.pause(func() {
			if l.is, l.err = l.make(); l.err != nil {
				l.err = fmt.Errorf("prepare policies: %w", l.err)
			}
		})
	})
	return l.is, l.err
}

// New is an engine that asks the rules of a policy itself.
func New(p *policy.Policy, l Limits) *Engine {
	e := &Engine{policy: p, limits: l.WithDefaults(), kinds: map[string]*query{}, store: inmem.New()}
	e.judge = e
	e.plan()
	for _, kind := range p.Kinds() {
		e.kinds[kind] = e.query(kind)
	}
	return e
}

// NewFor is an engine whose rules, of candidates of some kinds, another process is asked for; unplanned is what Unplanned says there.
func NewFor(p *policy.Policy, l Limits, kinds []string, unplanned string, judge Judge) *Engine {
	e := &Engine{policy: p, limits: l.WithDefaults(), kinds: map[string]*query{}, unplanned: unplanned, judge: judge}
	for _, kind := range kinds {
		e.kinds[kind] = nil
	}
	return e
}

// Planned is the plan that was made of the rules here; nil where it was prepared before.
func (e *Engine) Planned() *ir.Policy { return e.planned }

// Unplanned says why OPA's plan of the rules is not run, so that its topdown decides everything, which takes longer; "" where it is run.
func (e *Engine) Unplanned() string { return e.unplanned }

// HasKind reports whether rules are about candidates of a kind.
func (e *Engine) HasKind(kind string) bool {
	_, known := e.kinds[kind]
	return known
}

// plan takes the plan that was prepared of the rules, or has OPA plan them. Where it cannot, or a plan has more than is known here, every candidate is decided
// by topdown, which takes longer.
func (e *Engine) plan() {
	if data := e.policy.Plan(); data != nil {
		if p, err := plan.Decode(data); err == nil {
			e.program = p
			return
		}
	}
	planned, err := Plan(e.policy)
	if err == nil {
		e.program, err = plan.New(planned)
	}
	if e.planned = planned; err != nil {
		e.planned, e.unplanned = nil, err.Error()
	}
}

// Plan is OPA's plan of all rules that an engine asks of a policy that was built.
func Plan(p *policy.Policy) (*ir.Policy, error) {
	if err := p.Build(); err != nil {
		return nil, err
	}
	var refs []ast.Ref
	for _, kind := range p.Kinds() {
		for _, r := range p.Reap(kind) {
			refs = append(refs, r.Ref.Append(ast.StringTerm(policy.ScopeRule)), r.Ref.Append(ast.StringTerm(policy.FindingsRule)))
		}
	}
	for _, r := range p.Protect() {
		refs = append(refs, r.Ref.Append(ast.StringTerm(policy.ObjectionsRule)))
	}
	return plan.Build(context.Background(), p.Compiler(), refs)
}

// query is what is asked of the candidates of a kind.
func (e *Engine) query(kind string) *query {
	find := e.policy.Reap(kind)
	foreign := func(p policy.Package) bool { return !e.policy.About(p, kind) }
	object := slices.DeleteFunc(slices.Clone(e.policy.Protect()), foreign)
	q := &query{}
	q.stock.make = func() (stock, error) { return e.stock(kind, find, find, object) }
	q.inScope.make = func() (stock, error) { return e.stock(kind, find, nil, nil) }
	q.explain.make = func() (rego.PreparedEvalQuery, error) { return e.explaining(find, object) }
	if e.program != nil {
		q.scope = e.rules(find, policy.ScopeRule)
		q.findings, q.objections = e.rules(find, policy.FindingsRule), e.rules(object, policy.ObjectionsRule)
	}
	return q
}

// rules are the rules of a name in packages, in the program.
func (e *Engine) rules(ps []policy.Package, name string) (out []*plan.Rule) {
	for _, p := range ps {
		if r := e.program.Rule(p.Ref.Append(ast.StringTerm(name))); r != nil {
			out = append(out, r)
		}
	}
	return out
}

// ready makes what a query asks ready to run.
func (q *query) ready(p *plan.Program) {
	if p != nil {
		p.Prepare(slices.Concat(q.scope, q.findings, q.objections)...)
	}
}

// WithDefaults fills in what is left open.
func (l Limits) WithDefaults() Limits {
	return Limits{
		Timeout: cmp.Or(max(l.Timeout, 0), defaultTimeout), HeapBytes: cmp.Or(l.HeapBytes, defaultHeap),
		Load: cmp.Or(max(l.Load, 0), defaultLoad), Workers: cmp.Or(max(l.Workers, 0), runtime.GOMAXPROCS(0)),
	}
}

// stock is a question to OPA's topdown about all that a query asks.
type stock struct {
	rego.PreparedEvalQuery
	scope, find, object []policy.Package // the answer has a variable for each rule of theirs: a list of nothing, or of what the rule gives
}

func (e *Engine) stock(kind string, scope, find, object []policy.Package) (out stock, err error) {
	var parts, paths []string
	ask := func(prefix, rule string, ps []policy.Package) {
		for i, p := range ps { // a comprehension is defined when what is in it is not
			paths = append(paths, p.Ref.String()+"."+rule)
			parts = append(parts, fmt.Sprintf("%s%d := [x | x := %s.%s]", prefix, i, p.Ref, rule))
		}
	}
	ask("s", policy.ScopeRule, scope)
	ask("f", policy.FindingsRule, find)
	ask("o", policy.ObjectionsRule, object)
	out.scope, out.find, out.object = scope, find, object
	c, err := e.policy.CompilerFor(kind, paths)
	if err != nil {
		return out, err
	}
	out.PreparedEvalQuery, err = e.prepared(c, parts)
	return out, err
}

// explaining is the question by which a kind's candidates are explained.
func (e *Engine) explaining(find, object []policy.Package) (rego.PreparedEvalQuery, error) {
	var all []string
	for i, p := range find { // a comprehension is defined when what is in it is not
		all = append(all, fmt.Sprintf("s%d := [true | %s.%s]; f%d := %s.%s", i, p.Ref, policy.ScopeRule, i, p.Ref, policy.FindingsRule))
	}
	for i, p := range object {
		all = append(all, fmt.Sprintf("o%d := %s.%s", i, p.Ref, policy.ObjectionsRule))
	}
	if err := e.policy.Build(); err != nil {
		return rego.PreparedEvalQuery{}, err
	}
	return e.prepared(e.policy.Compiler(), all)
}

func (e *Engine) prepared(c *ast.Compiler, parts []string) (rego.PreparedEvalQuery, error) {
	body, err := ast.ParseBodyWithOpts(strings.Join(parts, "; "), ast.ParserOptions{Capabilities: lint.Capabilities()})
	if err != nil {
		return rego.PreparedEvalQuery{}, err
	}
	return rego.New(rego.Compiler(c), rego.Store(e.store), rego.StrictBuiltinErrors(true), rego.ParsedQuery(body)).
		PrepareForEval(context.Background())
}

const (
	// tick is how often the watchdog looks at the heap.
	tick = 2 * time.Millisecond
	// heapMetric counts the bytes of objects that are alive or not swept yet.
	heapMetric = "/memory/classes/heap/objects:bytes"
)

// watchdog cancels evaluations that take too long or make the heap grow too far. What grows is the heap of the whole program, so an
// evaluation is only held to what came since the watchdog first saw it: an ordinary one has ended long before the second look, and costs no
// clock and no timer of its own.
type watchdog struct {
	limits Limits
	mu     sync.Mutex
	slots  []*slot
	over   chan struct{}
	gone   sync.WaitGroup
	// passed counts the evaluations that passed a limit.
	passed atomic.Int64
}

// maxPassed is how many evaluations may pass a limit before the rest is spared without one: a rule that never ends would else take
// its deadline of every candidate.
const maxPassed = 8

// slot is where one evaluation at a time runs.
type slot struct {
	watchdog *watchdog
	mu       sync.Mutex
	cancel   topdown.Cancel // nil while nothing runs
	seen     bool           // the watchdog saw this evaluation
	since    moment         // when that was
	low      uint64         // the smallest heap since then
	why      error
}

// watch starts the watchdog; stop ends it.
func watch(l Limits) *watchdog {
	w := &watchdog{limits: l, over: make(chan struct{})}
	w.gone.Go(w.run)
	return w
}

func (w *watchdog) stop() {
	close(w.over)
	w.gone.Wait()
}

func (w *watchdog) slot() *slot {
	s := &slot{watchdog: w}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slots = append(w.slots, s)
	return s
}

// pause does something that no evaluation is to blame for: what runs meanwhile is held to its limits from afterwards on.
func (w *watchdog) pause(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
	for _, s := range w.slots {
		s.mu.Lock()
		s.seen = false
		s.mu.Unlock()
	}
}

func (w *watchdog) run() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	sample := []metrics.Sample{{Name: heapMetric}}
	for {
		select {
		case <-w.over:
			return
		case <-ticker.C:
		}
		metrics.Read(sample)
		now := moment{at: time.Now()}
		now.worked, now.counts = processorTime()
		w.mu.Lock()
		for _, s := range w.slots {
			s.look(now, sample[0].Value.Uint64())
		}
		w.mu.Unlock()
	}
}

// moment is a time, by the clock and by how long the processors have worked for this program, where that counts.
type moment struct {
	at     time.Time
	worked time.Duration
	counts bool
}

// past reports whether more than d has gone by since then. A machine that is busy with other things is no fault of the rule: its time counts
// only as far as this program ran.
func (m moment) past(then moment, d time.Duration) bool {
	return m.at.Sub(then.at) >= d && (!m.counts || !then.counts || m.worked-then.worked >= d)
}

// look cancels the evaluation when it takes too long, or the heap grew too far, since it was first seen. A collection in between lowers the mark.
func (s *slot) look(now moment, heap uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.cancel == nil || s.why != nil:
		return
	case !s.seen:
		s.seen, s.since, s.low = true, now, heap
	case now.past(s.since, s.watchdog.limits.Timeout):
		s.why = errDeadline
	case heap < s.low:
		s.low = heap
	case heap-s.low > s.watchdog.limits.HeapBytes:
		s.why = errMemory
	}
	if s.why != nil {
		s.cancel.Cancel()
	}
}

// take begins an evaluation. What it returns ends it, and gives the limit that was passed, if one was.
func (s *slot) take(c topdown.Cancel) func() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel, s.seen, s.why = c, false, nil
	return func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cancel = nil
		return s.why
	}
}

// processorTime is how long the processors have worked for this program, on all its threads: never less than for one evaluation.
func processorTime() (time.Duration, bool) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t)
	return time.Duration(t.Nano()), err == nil
}
