package actuators

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/engine/decision"
)

// Carrier carries the decisions of one sweep out, in batches of one kind, under the floor.
type Carrier struct {
	Judge   Judge
	Journal Journal
	// ByKind holds the actuator of each kind, and Kinds the kinds that may be touched at all (act.kinds), in the order of acts: what runs
	// goes before the folder that it runs in.
	ByKind map[string]Actuator
	Kinds  []string
	// Caps bound what all calls of Carry together may do. Past is what they take an accident from.
	Caps Caps
	Past Past
	// TrashTTL is how long what a Restorer sets aside is kept.
	TrashTTL time.Duration
	// NewID gives each act an id: unique, and made of letters, digits, '_' and '-' only.
	NewID func() string
	Now   func() time.Time
	Log   hclog.Logger
	// Halted, when set, is asked before every act, and right before what cannot be undone: an error says why nothing more may be done. What has begun is brought to
	// its end.
	Halted func() error
	// Grants, when set, is asked right before each act whether what it takes is held by now.
	Grants Grants
	// Progress, when set, is called with each act when it has ended.
	Progress func(decision.Act)

	spent spent
	halt  context.CancelCauseFunc
}

// heed ends the context of the acts where they are halted.
func (c *Carrier) heed() {
	if c.Halted == nil {
		return
	}
	if err := c.Halted(); err != nil {
		c.halt(err)
	}
}

// Carry acts on those of ds whose verdict is reap and whose kind is allowed, and says of each how it went: nothing that was
// wanted is missing from the answer. ds are all decisions of one look. When ctx ends, what is under way is brought to an end and the rest is
// reported as not done.
func (c *Carrier) Carry(ctx context.Context, sweep string, ds []decision.Decision) []decision.Act {
	var acts []decision.Act
	ctx, halt := context.WithCancelCause(ctx)
	defer halt(nil)
	c.halt = halt
	plan := c.Caps.plan(c.Kinds, ds, c.Past, &c.spent)
	for _, held := range plan.Caps {
		c.log().Warn("a cap held", "kind", held.Kind, "cap", held.Cap, "wanted", held.Wanted, "held", held.Held, "why", held.Why)
	}
	for _, kind := range c.Kinds {
		for ds := plan.Go[kind]; len(ds) > 0; {
			n := c.batch(kind, ds)
			acts = append(acts, c.carry(ctx, sweep, ds[:n])...)
			ds = ds[n:]
		}
		for _, w := range plan.Wait[kind] {
			act := c.begin(sweep, w.Decision)
			act.Outcome = decision.Outcome{Outcome: decision.Capped, Detail: w.Detail}
			c.tell(act)
			acts = append(acts, act)
		}
	}
	return acts
}

// begin names the act on a decision.
func (c *Carrier) begin(sweep string, d decision.Decision) decision.Act {
	return decision.Act{ID: c.NewID(), Candidate: d.ID, Decision: decision.DecisionID(sweep, d.ID), Kind: d.Kind, Label: d.Label}
}

func (c *Carrier) tell(act decision.Act) {
	c.log().Info("act", "act", act.ID, "candidate", act.Candidate, "outcome", act.Outcome.Outcome)
	if c.Progress != nil {
		c.Progress(act)
	}
}

// settled writes an outcome down. That it could not be written is part of the outcome, and changes nothing of what happened.
func (c *Carrier) settled(ctx context.Context, id string, out decision.Outcome) decision.Outcome {
	// What has happened is written down even when the sweep is being interrupted.
	if err := c.Journal.Settled(context.WithoutCancel(ctx), id, out); err != nil {
		c.log().Error("write the outcome down", "act", id, "error", err)
		note := fmt.Sprintf("this outcome could not be written down: %v; the next sweep finds it out again by looking", err)
		out.Detail = strings.TrimPrefix(out.Detail+"; "+note, "; ")
	}
	return out
}

func (c *Carrier) log() hclog.Logger { return cmp.Or(c.Log, hclog.NewNullLogger()) }

func notTried(ctx context.Context) decision.Outcome {
	return decision.Outcome{Outcome: decision.Failed,
		Detail: fmt.Sprintf("not tried: the sweep ended before (%v); it was left untouched", context.Cause(ctx))}
}

// objections says why d is kept.
func objections(d decision.Decision) string {
	var ms []string
	for _, o := range d.Objections {
		ms = append(ms, o.Message)
	}
	if len(ms) == 0 {
		return "no rule gives a reason to reap it now"
	}
	return strings.Join(ms, "; ")
}
