package eval

import (
	"context"
	"errors"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/topdown"

	"winnow/engine/decision"
	"winnow/engine/policy"
)

// The ways in which an evaluation comes to no answer, besides an error of a rule.
var (
	errDeadline = errors.New("the evaluation passed its deadline (policy.timeout)")
	errMemory   = errors.New("the evaluation passed its memory limit (policy.memory)")
	errPanic    = errors.New("the evaluation panicked")
	errGivenUp  = errors.New("it was not evaluated: too many others had passed their deadline or memory limit before (policy.timeout, policy.memory)")
)

// said is what the policies said of a candidate in scope, both lists sorted by rule and message, never nil. size is what it took of policy.MaxSaid.
type said struct {
	findings, objections []decision.Reason
	size                 int
}

// ask evaluates a query on a document under the limits; nil, nil says that the candidate is out of scope.
func (e *Engine) ask(ctx context.Context, txn storage.Transaction, seat *seat, q *query, document func() ast.Value) (out *said, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("%w: %v", errPanic, r)
		}
	}()
	if seat.watchdog.givenUp() {
		return nil, errGivenUp
	}
	rs, err := e.eval(ctx, seat, q.decide, rego.EvalParsedInput(document()), rego.EvalTransaction(txn))
	if err != nil || len(rs) == 0 {
		return nil, err
	}
	return q.read(rs)
}

// eval runs a query on a seat: with its deadline, watched for memory, and without what OPA measures of itself.
func (e *Engine) eval(ctx context.Context, seat *seat, q rego.PreparedEvalQuery, opts ...rego.EvalOption) (rego.ResultSet, error) {
	cancel := topdown.NewCancel()
	done := seat.take(cancel)
	rs, err := q.Eval(ctx, append(opts, rego.EvalExternalCancel(cancel), rego.EvalMetrics(metrics.NoOp()), rego.EvalGenerateJSON(asTerm))...)
	if over := done(); over != nil && err != nil {
		seat.watchdog.passed.Add(1)
		return nil, over
	}
	if err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	return rs, nil
}

func asTerm(t *ast.Term, _ *rego.EvalContext) (any, error) { return t.Value, nil }

// read takes the reasons out of an answer. One result with every variable is the only answer there is.
func (q *query) read(rs rego.ResultSet) (*said, error) {
	if len(rs) != 1 {
		return nil, fmt.Errorf("%w: %d answers", policy.ErrShape, len(rs))
	}
	m := policy.Room(policy.MaxSaid)
	findings, err := policy.Reasons(rs[0].Bindings, q.findings, m)
	if err != nil {
		return nil, err
	}
	objections, err := policy.Reasons(rs[0].Bindings, q.objections, m)
	if err != nil {
		return nil, err
	}
	return &said{findings, objections, policy.MaxSaid - m.Left()}, nil
}
