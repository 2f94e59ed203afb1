package actuators

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
)

const (
	// maxBatch is how many things are held at once: each keeps some files open.
	maxBatch = 50
	// leastFresh is for how long a judgement may be acted on at least. Beyond that it may for as long as its look took, since what that read
	// first is as old when it ends.
	leastFresh = 250 * time.Millisecond
)

// one is an act of a batch.
type one struct {
	decision.Act
	decided, judged decision.Decision
	held            Held
	intent          decision.Intent
	// begun is true once the intent is written down, ordered once Grants know that the act begins, over once the outcome is known.
	begun, ordered, over bool
}

// batch says how many of the decisions, which are of one kind and in the order of their acts, are carried out together.
func (c *Carrier) batch(kind string, ds []decision.Decision) int {
	b, ok := c.ByKind[kind].(Batcher)
	if !ok {
		return 1
	}
	ds = ds[:min(len(ds), maxBatch)]
	// Without an identity nothing tells what an act on it would change of others.
	if i := slices.IndexFunc(ds, func(d decision.Decision) bool { return d.Identity.Key == "" }); i >= 0 {
		ds = ds[:max(i, 1)]
	}
	return min(max(b.Batch(ds), 1), len(ds))
}

// Disjoint says how many of ds, from the first on, have nothing in common, 1 at least: each has the things that parts gives for it, and is alone where that says
// false.
func Disjoint[K comparable](ds []decision.Decision, parts func(d decision.Decision) ([]K, bool)) int {
	taken := map[K]bool{}
	for i, d := range ds {
		own, ok := parts(d)
		if !ok {
			return max(i, 1)
		}
		if slices.ContainsFunc(own, func(k K) bool { return taken[k] }) {
			return i
		}
		for _, k := range own {
			taken[k] = true
		}
	}
	return len(ds)
}

// carry carries decisions of one kind out as a batch: it holds all, has all judged again in one look, writes all intents down, saves what
// can be lost, has all judged for the last time, and acts. What fails, or is something else by now, leaves the batch, and nothing else with it.
func (c *Carrier) carry(ctx context.Context, sweep string, ds []decision.Decision) []decision.Act {
	c.heed()
	all := make([]*one, len(ds))
	for i, d := range ds {
		c.spent.one(d)
		all[i] = &one{Act: c.begin(sweep, d), decided: d}
		c.hold(ctx, all[i])
	}
	held := pending(all)
	for i, err := range c.rejudge(ctx, held, func(a *one) decision.Decision { return a.decided }) {
		if err != nil {
			c.end(ctx, held[i], OutcomeOf(err))
		}
	}
	for _, a := range pending(all) {
		c.intend(ctx, sweep, a)
	}
	for _, a := range pending(all) {
		if ctx.Err() != nil {
			c.end(ctx, a, notTried(ctx))
		} else if err := a.held.Save(ctx); err != nil {
			c.end(ctx, a, OutcomeOf(err))
		}
	}
	c.acts(ctx, all)
	acts := make([]decision.Act, len(all))
	for i, a := range all {
		acts[i] = a.Act
	}
	return acts
}

// pending are those whose outcome is not known yet.
func pending(all []*one) []*one {
	return slices.DeleteFunc(slices.Clone(all), func(a *one) bool { return a.over })
}

// hold takes hold of the thing.
func (c *Carrier) hold(ctx context.Context, a *one) {
	d := a.decided
	actuator := c.ByKind[d.Kind]
	switch {
	case actuator == nil:
		c.end(ctx, a, OutcomeOf(Refused("nothing here can act on a %s; it was left untouched", d.Kind)))
	case ctx.Err() != nil:
		c.end(ctx, a, notTried(ctx))
	case d.Identity.Key == "":
		c.end(ctx, a, OutcomeOf(Refused("the identity of %s is unknown; it was left untouched", d.ID)))
	default:
		held, err := actuator.Hold(ctx, a.ID, d)
		if err != nil {
			c.end(ctx, a, OutcomeOf(err))
			return
		}
		a.held = held
	}
}

// intend writes down what is about to be done.
func (c *Carrier) intend(ctx context.Context, sweep string, a *one) {
	if ctx.Err() != nil {
		c.end(ctx, a, notTried(ctx))
		return
	}
	a.intent = decision.Intent{ID: a.ID, Sweep: sweep, Candidate: a.Candidate, Decision: a.Decision, Kind: a.Kind, Label: a.judged.Label,
		Identity: a.judged.Identity, Findings: a.judged.Findings, At: c.Now(), Plan: a.held.Plan()}
	if _, ok := c.ByKind[a.Kind].(Restorer); ok {
		a.intent.RestoreUntil = a.intent.At.Add(c.TrashTTL)
	}
	if err := c.Journal.Intend(ctx, a.intent); err != nil {
		c.end(ctx, a, decision.Outcome{Outcome: decision.Failed,
			Detail: fmt.Sprintf("write the intent down: %v; %s was left untouched. See that the state folder can be written", err, a.Candidate)})
		return
	}
	a.begun = true
}

// acts has those that are left judged for the last time, and acts on those that are still what was judged before they were saved. Acting on
// some must not make the judgement of the others old: then these are judged once more.
func (c *Carrier) acts(ctx context.Context, all []*one) {
	for rest := pending(all); len(rest) > 0; rest = pending(rest) {
		began := c.Now()
		c.last(ctx, rest)
		looked := c.Now()
		if c.heed(); ctx.Err() != nil {
			for _, a := range pending(rest) {
				c.end(ctx, a, notTried(ctx))
			}
		}
		if rest = pending(rest); len(rest) == 0 {
			return
		}
		begin := func(i int) error {
			c.heed()
			switch {
			case i > 0 && (ctx.Err() != nil || c.Now().Sub(looked) >= max(leastFresh, looked.Sub(began))):
				return ErrStale
			case ctx.Err() != nil:
				return errors.New(notTried(ctx).Detail)
			}
			return c.order(ctx, rest[i], looked)
		}
		if t, ok := c.ByKind[rest[0].Kind].(Together); ok {
			c.together(ctx, t, rest, begin)
			continue
		}
		for i, a := range rest {
			err := begin(i)
			if errors.Is(err, ErrStale) {
				break
			}
			if err != nil {
				c.end(ctx, a, OutcomeOf(err))
				continue
			}
			c.end(ctx, a, a.held.Act(ctx, a.intent))
		}
	}
}

// maxDrift is by how much the clock and the count of the time awake may differ since a judgement: a suspension, or a clock that was set, ends what was granted for a time, and who
// asked for it has had no chance to ask for more.
const maxDrift = 5 * time.Second

// order has an act begin before all that is granted from now on, and after all that was granted until now.
func (c *Carrier) order(ctx context.Context, a *one, looked time.Time) error {
	now := c.Now()
	if drift := now.Round(0).Sub(looked.Round(0)) - now.Sub(looked); drift.Abs() > maxDrift {
		return Changed("the machine slept, or its clock was set, after %s was judged; it was left untouched", a.Candidate)
	}
	if c.Grants == nil {
		return nil
	}
	err := c.Grants.Begin(ctx, a.ID, a.judged)
	a.ordered = err == nil
	return err
}

// last is the last judgement before the acts.
func (c *Carrier) last(ctx context.Context, rest []*one) {
	if ctx.Err() != nil {
		for _, a := range rest {
			c.end(ctx, a, notTried(ctx))
		}
		return
	}
	before := make([]string, len(rest))
	for i, a := range rest {
		before[i] = a.judged.Facts()
	}
	for i, err := range c.rejudge(ctx, rest, func(a *one) decision.Decision { return a.judged }) {
		a := rest[i]
		switch {
		case err != nil:
			c.end(ctx, a, OutcomeOf(err))
		case a.judged.Facts() != before[i]:
			c.end(ctx, a, OutcomeOf(Changed("%s changed while what it would lose was saved; it was left untouched, and the next sweep looks again", a.Candidate)))
		case ctx.Err() != nil:
			c.end(ctx, a, notTried(ctx))
		default:
			a.intent.Identity = a.judged.Identity
		}
	}
}

// together acts on several things as one. One of them at least gets an outcome.
func (c *Carrier) together(ctx context.Context, t Together, rest []*one, begin func(i int) error) {
	held, ins := make([]Held, len(rest)), make([]decision.Intent, len(rest))
	for i, a := range rest {
		held[i], ins[i] = a.held, a.intent
	}
	outs := t.ActTogether(ctx, held, ins, begin)
	for i, a := range rest {
		if i < len(outs) && outs[i] != nil {
			c.end(ctx, a, *outs[i])
		} else if i == 0 {
			c.end(ctx, a, decision.Outcome{Outcome: decision.Failed, Detail: fmt.Sprintf("%s was not acted on; it was left untouched", a.Candidate)})
		}
	}
}

// rejudge has things judged in one look, each by what was decided on it before, and gives for each why nothing may be done to it, nil where
// it may: another verdict, another thing, nothing there any more.
func (c *Carrier) rejudge(ctx context.Context, some []*one, was func(*one) decision.Decision) []error {
	if len(some) == 0 {
		return nil
	}
	ds, errs := make([]decision.Decision, len(some)), make([]error, len(some))
	for i, a := range some {
		ds[i] = was(a)
	}
	judged := c.Judge.Rejudge(ctx, ds)
	for i, a := range some {
		j := Judgement{Err: errors.New("the look gave no judgement of it")}
		if i < len(judged) {
			j = judged[i]
		}
		a.judged, errs[i] = j.Decision, unchanged(ds[i], j)
	}
	return errs
}

// unchanged says why a thing that was decided on may not be acted on by another judgement of it, nil where it may.
func unchanged(d decision.Decision, j Judgement) error {
	again := j.Decision
	switch {
	case j.Err != nil:
		return Refused("%s could not be judged again right before the act: %w; it was left untouched", d.ID, j.Err)
	case again.ID == "":
		return Gone("%s no longer existed right before the act", d.ID)
	case again.Identity.Key == "":
		return Refused("the identity of %s could not be read right before the act; it was left untouched", d.ID)
	case again.ID != d.ID || again.Kind != d.Kind || !again.Identity.Matches(d.Identity):
		return Changed("%s is no longer the thing that was judged; it was left untouched until the next sweep", d.ID)
	case again.Verdict != decision.Reap:
		return Changed("%s must stay, by a second look right before the act: %s; it was left untouched", d.ID, objections(again))
	}
	return nil
}

// mayHaveTaken reports whether what an act was about may be gone by it. A process that was asked to end may do so after the act has failed, or is found
// to have ended by itself; whoever asks for it then asks whether it is there.
func mayHaveTaken(kind string, out decision.Outcome) bool {
	ended := out.Outcome == decision.Gone || out.Outcome == decision.Failed
	return out.Outcome == decision.Done || out.Open || ended && kind == kindProcess
}

// end lets go of a thing, and writes down how the act on it went where its intent was. What was saved for an act that did not come is removed
// before the outcome is written down: until then the open intent leads to it.
func (c *Carrier) end(ctx context.Context, a *one, out decision.Outcome) {
	until := a.intent.RestoreUntil
	if out.Outcome == decision.Done && !until.IsZero() {
		if out.RestoreUntil == nil {
			out.RestoreUntil = new(until)
		}
		if !until.After(a.intent.At) {
			out.Detail = strings.TrimPrefix(out.Detail+"; act.trash_ttl is "+c.TrashTTL.String()+", so nothing brings it back", "; ")
		}
	}
	if a.held != nil {
		if err := a.held.Close(); err != nil {
			c.log().Warn("let go of a thing", "candidate", a.Candidate, "error", err)
			out.Detail = strings.TrimPrefix(fmt.Sprintf("%s; let go of it: %v", out.Detail, err), "; ")
		}
	}
	if a.ordered {
		c.Grants.End(context.WithoutCancel(ctx), a.ID, mayHaveTaken(a.Kind, out))
	}
	if a.begun && !out.Open { // an open intent is settled by the next sweep
		out = c.settled(ctx, a.ID, out)
	}
	a.Outcome, a.over = out, true
	c.tell(a.Act)
}
