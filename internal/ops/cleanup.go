package ops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/engine/alarm"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
)

// The questions, in the order in which closing a terminal depends on them.
const (
	askTriggered = "was a sweep made"
	askReachable = "was the Tower reachable"
	askRow       = "is the row still there"
	askSeen      = "had we seen the builder before"
	askKey       = "did the key match"
	askEffect    = "did the close take effect"
)

// CheckTerminal answers them for a terminal. It is nil for anything else.
func (o *Ops) CheckTerminal(ctx context.Context, s *snapshot.Snapshot, id string) ([]document.Answer, error) {
	t, ok := s.Terminals[id]
	if !ok {
		return nil, nil
	}
	var sweeps []ledger.Sweep
	var acts []ledger.Act
	var refusals map[string]alarm.Refusal
	err := o.ReadLedger(func(l *ledger.Ledger) (err error) {
		if sweeps, err = l.Sweeps(ctx, s.TakenAt.Add(-trailSpan)); err != nil {
			return err
		}
		if acts, err = l.Acts(ctx, s.TakenAt.Add(-trailSpan)); err != nil {
			return err
		}
		refusals, err = l.Refusals(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	acts = slices.DeleteFunc(acts, func(x ledger.Act) bool { return x.Intent.Candidate != id })
	return []document.Answer{
		triggered(sweeps), reachable(s.Sources[t.Source]), row(&t), seenBefore(&t), keyMatch(&t), effect(acts, refusals[id]),
	}, nil
}

// answer is the answer to one question.
func answer(question, answer, detail string) document.Answer {
	return document.Answer{Question: question, Answer: answer, Detail: detail}
}

// trailSpan is how far back the ledger is asked for sweeps and acts.
const trailSpan = 30 * 24 * time.Hour

func triggered(sweeps []ledger.Sweep) document.Answer {
	if len(sweeps) == 0 {
		return answer(askTriggered, "no", "no sweep is on record in the last 30 days; winnow sweep --apply makes one")
	}
	last := sweeps[0]
	detail := fmt.Sprintf("the latest of %s was on %s (%s)", text.Plural(len(sweeps), "sweep"), text.Time(last.Started), last.Mode)
	if i := slices.IndexFunc(sweeps, func(s ledger.Sweep) bool { return s.Mode == report.Apply }); i < 0 {
		return answer(askTriggered, "no", detail+"; none of them had --apply: winnow sweep --apply")
	} else if i > 0 {
		detail += "; the latest with --apply on " + text.Time(sweeps[i].Started)
	}
	return answer(askTriggered, "yes", detail)
}

func reachable(src snapshot.Source) document.Answer {
	tower := "the Tower"
	if src.Server != nil {
		tower = fmt.Sprintf("the Tower %s at %s", src.Server.Version, src.Server.Socket)
	}
	if src.Status == snapshot.OK {
		return answer(askReachable, "yes", tower+" answered at this look")
	}
	return answer(askReachable, "no", cmp.Or(src.Error, "it was not asked"))
}

func row(t *snapshot.Terminal) document.Answer {
	own := "whether Codev's store has a row for the terminal is not known"
	if t.Recorded != nil {
		own = "Codev's store has no row for the terminal"
		if *t.Recorded {
			own = "Codev's store has a row for the terminal"
		}
	}
	switch {
	case t.Owner == nil || t.Owner.Recorded == nil:
		return answer(askRow, "unknown", own+", and its builder, or whether that builder is on record, is not known")
	case *t.Owner.Recorded:
		return answer(askRow, "yes", own+", and one for the builder "+t.Owner.ID+": as long as the row exists, the builder is not gone")
	}
	return answer(askRow, "no", own+", and none for the builder "+t.Owner.ID)
}

func seenBefore(t *snapshot.Terminal) document.Answer {
	if t.Owner == nil {
		return answer(askSeen, "no", "no row, no label and no earlier look says that a builder had this terminal")
	}
	how := map[string]string{
		"row":    "the terminal's own row names it",
		"label":  "the terminal's label names it",
		"memory": "an earlier look knew its builder",
		"folder": "it was started in that builder's worktree",
	}[t.Owner.How]
	if t.Owner.SeenAt != nil {
		how += "; with its own row it was last seen on " + text.Time(*t.Owner.SeenAt)
	}
	return answer(askSeen, "yes", how)
}

func keyMatch(t *snapshot.Terminal) document.Answer {
	switch {
	case t.Owner == nil:
		return answer(askKey, "unknown", "there is no builder to compare with")
	case t.Owner.Recorded == nil:
		return answer(askKey, "unknown", "the builders on record could not be read")
	}
	spelt := t.Owner.ID
	if t.Label != "" && t.Label != spelt {
		spelt += fmt.Sprintf(" (its label is %q)", t.Label)
	}
	if *t.Owner.Recorded {
		return answer(askKey, "yes", "a builder on record has this id, in some spelling: "+spelt)
	}
	return answer(askKey, "no", "no builder on record has this id in any spelling: "+spelt)
}

func effect(acts []ledger.Act, refused alarm.Refusal) document.Answer {
	if refused.Count > 0 {
		times := "once"
		if refused.Count > 1 {
			times = text.Plural(refused.Count, "time") + " in a row"
		}
		return answer(askEffect, "no", fmt.Sprintf("it did not %s, the last time on %s; every sweep --apply tries again. %s: %s",
			times, text.Time(refused.LastAt), refused.Outcome, refused.Detail))
	}
	if len(acts) == 0 {
		return answer(askEffect, "unknown", "no sweep has asked to close it yet")
	}
	last := acts[0]
	if last.Outcome == nil {
		return answer(askEffect, "unknown", "the act of "+text.Time(last.Intent.At)+" was cut short; the next sweep --apply finds out how it went")
	}
	return answer(askEffect, "no", fmt.Sprintf("on %s: %s: %s; and it is there now", text.Time(last.Intent.At), last.Outcome.Outcome, last.Outcome.Detail))
}

// Cleanup closes one finished worker's session, or reaps one candidate. mine is true where who asks declares that it is theirs and may go. An error may be a *document.Declined.
func (o *Ops) Cleanup(ctx context.Context, arg string, mine bool) (out document.Cleaned, err error) {
	e, p, err := o.Engine(ctx)
	if err != nil {
		return out, err
	}
	s, err := o.OpenSweeper(ctx, e, p, true, sweep.AskedWait)
	if err != nil {
		return out, err
	}
	defer s.Close()
	if err := s.Halted(); err != nil {
		return out, fmt.Errorf("%w; nothing was closed", err)
	}
	started := time.Now()
	if out.Settled, err = s.Settle(ctx); err != nil {
		return out, err
	}
	mem := s.Remembered(ctx)
	snap, t, err := o.lookFor(ctx, s, mem, arg, mine)
	if err != nil {
		return out, err
	}
	res, err := s.Engine.Decide(ctx, snap, &s.Cfg.Rules.Config)
	if err != nil {
		return out, fmt.Errorf("decide: %w; nothing was closed", err)
	}
	if no := o.Closable(t, snap, res.Decisions...); no != nil {
		return out, decline(no)
	}
	d, no := t.Verdict(res, s.Cfg.Act.Kinds)
	if no != nil {
		return out, decline(no)
	}
	act, err := s.CleanUp(ctx, started, snap, mem, t, res, d)
	if err != nil {
		return out, err
	}
	if no, code := t.Undone(act); no != nil {
		return out, exit.Error{Code: code, Err: no}
	}
	out.Cleaned, out.Act = t.ID, &act
	if owner := t.Owner(); owner != nil {
		out.Worker = owner.ID
	}
	return out, nil
}

// lookFor looks at the machine, and in full at what arg names.
func (o *Ops) lookFor(ctx context.Context, s *sweep.Sweeper, mem look.PriorState, arg string, mine bool) (*snapshot.Snapshot, sweep.Target, error) {
	snap, err := s.LookFor(ctx, sources.Scope{}, mem, s.Engine)
	if err != nil {
		return nil, sweep.Target{}, err
	}
	if err := o.PartInFull(ctx, snap, arg); err != nil {
		return nil, sweep.Target{}, fmt.Errorf("look into %s: %w; nothing was closed", arg, err)
	}
	t, err := o.FindTarget(ctx, snap, arg)
	if err != nil {
		return nil, t, err
	}
	if mine && t.ID != arg { // another one that merely has this in its name
		return nil, t, config.Usagef("--mine needs the whole id of a worktree, and %s was not found; nothing was done", arg)
	}
	t.Mine = mine
	snap.Asked = t.Word()
	if err := o.InFull(ctx, snap, t.ID); err != nil {
		return nil, t, fmt.Errorf("look into %s: %w; nothing was closed", t.ID, err)
	}
	return snap, t, nil
}
