package engine

import (
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
	in := false
	for _, d := range p.scope {
		v, err := m.document(d)
		if err != nil {
			return nil, err
		}
		in = in || v != nil && !isFalse(v)
	}
	if !in {
		return nil, nil
	}
	findings, err := m.reasons(p.findings)
	if err != nil {
		return nil, err
	}
	objections, err := m.reasons(p.objections)
	return &said{findings, objections}, err
}

// reasons are those of several rules together, each once.
func (m *machine) reasons(from []*document) ([]decision.Reason, error) {
	all := ast.NewSet()
	for _, d := range from {
		v, err := m.document(d)
		if err != nil {
			return nil, err
		}
		some, ok := v.Value.(ast.Set)
		if !ok {
			return nil, errShape
		}
		some.Foreach(all.Add)
	}
	return reasons(all)
}
