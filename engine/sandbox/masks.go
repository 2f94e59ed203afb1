package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/mask"
)

// Masks are an operator's masks of logged decisions (engine/mask), compiled and asked in a process of its own: what they take too much of ends that
// process. It is used by one goroutine, and must be closed.
type Masks struct {
	limits eval.Limits
	child  *child
	// over is why the process ended.
	over error
}

// toMask is the question that loads masks.
type toMask struct {
	Limits eval.Limits `json:"limits"`
	Files  mask.Files  `json:"files"`
}

// StartMasks starts that process and has it compile the files.
func StartMasks(ctx context.Context, files mask.Files, l eval.Limits, program Program) (*Masks, error) {
	c, err := begin(program)
	if err != nil {
		return nil, err
	}
	m := &Masks{limits: l.WithDefaults(), child: c}
	if _, err := m.ask(ctx, question{Masks: &toMask{m.limits, files}}, m.limits.Load); err != nil {
		m.Close()
		return nil, fmt.Errorf("load masks: %w", err)
	}
	return m, nil
}

// Rules implements decisionlog.Masker: what the masks say of an event. Where the process ended over one, none is asked any more.
func (m *Masks) Rules(ctx context.Context, event any) ([]any, error) {
	data, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	last, err := m.ask(ctx, question{Mask: data}, 2*m.limits.Timeout+time.Second)
	if err != nil || last.Mask == nil {
		return nil, err
	}
	var rules []any
	err = decode(last.Mask, &rules)
	return rules, err
}

// Close ends the process.
func (m *Masks) Close() {
	if m.child != nil {
		m.child.end(nil)
		m.child = nil
	}
}

func (m *Masks) ask(ctx context.Context, q question, within time.Duration) (reply, error) {
	if m.child == nil {
		return reply{}, fmt.Errorf("%w; they are not asked again", m.over)
	}
	last, err := m.child.ask(ctx, q, nil, within, func(reply) {})
	switch {
	case ctx.Err() != nil:
		return reply{}, ctx.Err()
	case err != nil:
		m.over = err
		m.Close()
		return reply{}, err
	case last.Error != "":
		return reply{}, errors.New(last.Error)
	}
	return last, nil
}

// masks loads masks in the process apart.
func (s *server) masks(q *toMask) error {
	err := wall(q.Limits)
	if err == nil {
		s.mask, err = q.Files.Compile(context.Background(), q.Limits.Timeout)
	}
	return s.end(reply{}, err)
}

// masked asks them.
func (s *server) masked(event json.RawMessage) error {
	if s.mask == nil {
		return errors.New("no masks are loaded")
	}
	var in any
	if err := decode(event, &in); err != nil {
		return err
	}
	rules, err := s.mask.Rules(context.Background(), in)
	if err != nil {
		return s.end(reply{}, err)
	}
	data, err := json.Marshal(rules)
	return s.end(reply{Mask: data}, err)
}
