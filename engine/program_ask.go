package engine

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"winnow/engine/decision"
)

// ask runs the program. It is sure of what it gives, nil for a candidate out of scope, unless it erred or would reap: then OPA
// is to be asked. An error is a limit that was passed.
func (p *program) ask(seat *seat, desk *desk, input ast.Value) (out *said, sure bool, err error) {
	if p == nil {
		return nil, false, nil
	}
	m := desk.machines[p]
	if m == nil {
		m = newMachine(p)
		desk.machines[p] = m
	}
	cancel := topdown.NewCancel()
	done := seat.take(cancel)
	m.begin(input, cancel)
	out, failed := p.run(m)
	if over := done(); over != nil && failed != nil {
		return nil, false, over
	}
	if failed != nil {
		return nil, false, nil
	}
	return out, out == nil || len(out.findings) == 0 || len(out.objections) > 0, nil
}

func (p *program) run(m *machine) (*said, error) {
	if in, err := m.any(p.scope); err != nil || !in {
		return nil, err
	}
	findings, err := m.reasons(p.findings)
	if err != nil {
		return nil, err
	}
	objections, err := m.reasons(p.objections)
	return &said{findings, objections}, err
}

// any reports whether one of the rules at least is true.
func (m *machine) any(of []*document) (bool, error) {
	for _, d := range of {
		if v, err := m.document(d); err != nil || v != nil && !isFalse(v) {
			return err == nil, err
		}
	}
	return false, nil
}

// reasons are those of several rules together, each once. They go without a set: most rules give none, and few give two.
func (m *machine) reasons(from []*document) ([]decision.Reason, error) {
	m.said = m.said[:0]
	for _, d := range from {
		for _, c := range d.clauses {
			if err := m.say(c); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(m.said, ast.TermValueCompare)
	return reasons(slices.CompactFunc(m.said, (*ast.Term).Equal))
}

// say keeps what a clause gives.
func (m *machine) say(c *clause) error {
	i, ok, err := c.body.until(m)
	switch {
	case err != nil || !ok:
		return err
	case i == len(c.body):
		return m.keep(c)
	}
	return c.body.each(m, i, func() error { return m.keep(c) })
}

func (m *machine) keep(c *clause) error {
	v, err := c.value(m)
	if v != nil && err == nil {
		m.said = append(m.said, v)
	}
	return err
}
