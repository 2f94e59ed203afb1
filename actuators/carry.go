package actuators

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"winnow/engine/decision"
)

// Carrier carries the decisions of one sweep out, one act after the other, under the floor.
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
	// Progress, when set, is called with each act when it has ended.
	Progress func(decision.Act)

	spent spent
}

// Carry acts on those of ds whose verdict is reap and whose kind is allowed, and says of each how it went: nothing that was
// wanted is missing from the answer. ds are all decisions of one look. When ctx ends, the act under way is brought to an end and the rest is
// reported as not done.
func (c *Carrier) Carry(ctx context.Context, sweep string, ds []decision.Decision) []decision.Act {
	var acts []decision.Act
	plan := c.Caps.plan(c.Kinds, ds, c.Past, &c.spent)
	for _, held := range plan.Caps {
		c.log().Warn("a cap held", "kind", held.Kind, "cap", held.Cap, "wanted", held.Wanted, "held", held.Held, "why", held.Why)
	}
	for _, kind := range c.Kinds {
		run := func(d decision.Decision, id string) decision.Outcome { return c.act(ctx, sweep, id, d) }
		if c.ByKind[kind] == nil {
			run = always(decision.Refused, "nothing here can act on a "+kind+"; it was left untouched")
		}
		for _, d := range plan.Go[kind] {
			c.spent.one(d)
			acts = append(acts, c.report(sweep, d, run))
		}
		for _, w := range plan.Wait[kind] {
			acts = append(acts, c.report(sweep, w.Decision, always(decision.Capped, w.Detail)))
		}
	}
	return acts
}

// report runs one act and says how it went.
func (c *Carrier) report(sweep string, d decision.Decision, run func(decision.Decision, string) decision.Outcome) decision.Act {
	act := decision.Act{ID: c.NewID(), Candidate: d.ID, Decision: decision.DecisionID(sweep, d.ID), Kind: d.Kind, Label: d.Label}
	act.Outcome = run(d, act.ID)
	c.tell(act)
	return act
}

func (c *Carrier) tell(act decision.Act) {
	c.log().Info("act", "act", act.ID, "candidate", act.Candidate, "outcome", act.Outcome.Outcome)
	if c.Progress != nil {
		c.Progress(act)
	}
}

// act holds the thing, has it judged again, writes the intent down, saves what can be lost, has it judged for the last time, acts, and
// writes the outcome down.
func (c *Carrier) act(ctx context.Context, sweep, id string, d decision.Decision) decision.Outcome {
	if ctx.Err() != nil {
		return notTried(ctx)
	}
	if d.Identity.Key == "" {
		return OutcomeOf(Refused("the identity of %s is unknown; it was left untouched", d.ID))
	}
	actuator := c.ByKind[d.Kind]
	held, err := actuator.Hold(ctx, id, d)
	if err != nil {
		return OutcomeOf(err)
	}
	out, begun := c.tryHeld(ctx, sweep, id, d, held)
	// What was saved for an act that did not come is removed before the outcome is written down: until then the open intent leads to it.
	if err := held.Close(); err != nil {
		c.log().Warn("let go of a thing", "candidate", d.ID, "error", err)
		out.Detail = strings.TrimPrefix(fmt.Sprintf("%s; let go of it: %v", out.Detail, err), "; ")
	}
	if !begun || out.Open { // an open intent is settled by the next sweep
		return out
	}
	return c.settled(ctx, id, out)
}

// tryHeld carries the act out on what is held. begun is true once the intent is written down.
func (c *Carrier) tryHeld(ctx context.Context, sweep, id string, d decision.Decision, held Held) (out decision.Outcome, begun bool) {
	again, err := c.again(ctx, d)
	if err != nil {
		return OutcomeOf(err), false
	}
	in := decision.Intent{ID: id, Sweep: sweep, Candidate: d.ID, Decision: decision.DecisionID(sweep, d.ID), Kind: d.Kind, Label: again.Label, Identity: again.Identity,
		Findings: again.Findings, At: c.Now(), Plan: held.Plan()}
	if _, ok := c.ByKind[d.Kind].(Restorer); ok {
		in.RestoreUntil = in.At.Add(c.TrashTTL)
	}
	if ctx.Err() != nil {
		return notTried(ctx), false
	}
	if err := c.Journal.Intend(ctx, in); err != nil {
		return decision.Outcome{Outcome: decision.Failed,
			Detail: fmt.Sprintf("write the intent down: %v; %s was left untouched. See that the state folder can be written", err, d.ID)}, false
	}
	out = c.carry(ctx, held, again, in)
	if out.Outcome == decision.Done && out.RestoreUntil == nil && !in.RestoreUntil.IsZero() {
		out.RestoreUntil = new(in.RestoreUntil)
	}
	if out.Outcome == decision.Done && !in.RestoreUntil.IsZero() && !in.RestoreUntil.After(in.At) {
		out.Detail = strings.TrimPrefix(out.Detail+"; act.trash_ttl is "+c.TrashTTL.String()+", so nothing brings it back", "; ")
	}
	return out, true
}

// carry saves, has the thing judged for the last time, and acts where it is still what was judged before it was saved.
func (c *Carrier) carry(ctx context.Context, held Held, judged decision.Decision, in decision.Intent) decision.Outcome {
	if err := held.Save(ctx); err != nil {
		return OutcomeOf(err)
	}
	last, err := c.again(ctx, judged)
	switch {
	case err != nil:
		return OutcomeOf(err)
	case last.Facts() != judged.Facts():
		return OutcomeOf(Changed("%s changed while what it would lose was saved; it was left untouched, and the next sweep looks again", in.Candidate))
	case ctx.Err() != nil:
		return notTried(ctx)
	}
	in.Identity = last.Identity
	return held.Act(ctx, in)
}

// again has d judged again. Its error says why nothing may be done: another verdict, another thing, nothing there any more.
func (c *Carrier) again(ctx context.Context, d decision.Decision) (decision.Decision, error) {
	again, err := c.Judge.Again(ctx, d)
	switch {
	case err != nil:
		return again, Refused("%s could not be judged again right before the act: %w; it was left untouched", d.ID, err)
	case again.ID == "":
		return again, Gone("%s no longer existed right before the act", d.ID)
	case again.Identity.Key == "":
		return again, Refused("the identity of %s could not be read right before the act; it was left untouched", d.ID)
	case again.ID != d.ID || again.Kind != d.Kind || !again.Identity.Same(d.Identity):
		return again, Changed("%s is no longer the thing that was judged; it was left untouched, and the next sweep looks at it again", d.ID)
	case again.Verdict != decision.Reap:
		return again, Changed("%s must stay, by a second look right before the act: %s; it was left untouched", d.ID, objections(again))
	}
	return again, nil
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

func (c *Carrier) log() hclog.Logger {
	if c.Log == nil {
		return hclog.NewNullLogger()
	}
	return c.Log
}

func reaped(ds []decision.Decision, kind string) []decision.Decision {
	var out []decision.Decision
	for _, d := range ds {
		if d.Kind == kind && d.Verdict == decision.Reap {
			out = append(out, d)
		}
	}
	return out
}

func always(outcome, detail string) func(decision.Decision, string) decision.Outcome {
	return func(decision.Decision, string) decision.Outcome {
		return decision.Outcome{Outcome: outcome, Detail: detail}
	}
}

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
