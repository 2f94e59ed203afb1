package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newCleanup(a *app) *cobra.Command {
	var safe, mine bool
	cmd := &cobra.Command{
		Use:   "cleanup ID --safe [--mine]",
		Short: "Close one finished worker's session, or reap one candidate, now",
		Long: `Cleanup closes the one session that a registry records for a worker that has ended, when nothing keeps it. Or it reaps one other
candidate. It uses the rules and the floor of a sweep, but needs no second look: a person has looked, and asks
for this one thing. A process that was at work since an earlier look is kept all the same.
When it refuses, it says why and touches nothing. It never touches branches and worktrees for a session.
ID is as sweep --all prints it, or the worker's id in its registry.

A worktree that no rule finds a reason for goes with --mine, by which you say that it is yours and may go: only one that is your user's,
given by its whole id (dir:/path), in which there is nothing that is not in its repository, and that nothing keeps. Its commits stay,
and winnow restore brings it back.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error {
			if !safe {
				return config.Mistakef("only --safe is offered: winnow cleanup %s --safe closes it when no rule objects", text.Quote(ids[0]))
			}
			if mine && !strings.HasPrefix(ids[0], snapshot.KindDir+":") {
				return config.Mistakef("--mine is for a worktree by its whole id: winnow cleanup dir:/path --safe --mine")
			}
			return a.cleanup(cmd.Context(), ids[0], mine)
		},
	}
	cmd.Flags().BoolVar(&safe, "safe", false, "only where no rule objects")
	cmd.Flags().BoolVar(&mine, "mine", false, "a worktree that holds nothing is yours, and may go: your word is reason enough")
	return cmd
}

// Cleaned is what winnow cleanup prints as JSON when it did it.
type Cleaned struct {
	Cleaned string        `json:"cleaned"`
	Worker  string        `json:"worker,omitempty"`
	Act     *decision.Act `json:"act"`
	// Settled are acts of an earlier sweep that was cut short, with how they went in the end.
	Settled []decision.Act `json:"settled,omitempty"`
}

func (a *app) cleanup(ctx context.Context, arg string, mine bool) error {
	e, p, err := a.Engine(ctx)
	if err != nil {
		return err
	}
	s, err := a.openSweeper(ctx, e, p, true, askedWait)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.Halted(); err != nil {
		return fmt.Errorf("%w; nothing was closed", err)
	}
	started := time.Now()
	settled, err := s.settle(ctx)
	if err != nil {
		return err
	}
	mem := s.remembered(ctx)
	snap, err := s.LookFor(ctx, sources.Scope{}, mem, s.engine)
	if err != nil {
		return err
	}
	if err := a.PartInFull(ctx, snap, arg); err != nil {
		return fmt.Errorf("look into %s: %w; nothing was closed", arg, err)
	}
	t, no, err := a.find(ctx, snap, arg)
	if err != nil {
		return err
	}
	if mine && no == nil && t.id != arg { // another one that merely has this in its name
		return config.Mistakef("--mine needs the whole id of a worktree, and %s was not found; nothing was done", arg)
	}
	t.mine = mine
	snap.Asked = t.word()
	if no != nil {
		return a.refuse(*no)
	}
	if err := a.InFull(ctx, snap, t.id); err != nil {
		return fmt.Errorf("look into %s: %w; nothing was closed", t.id, err)
	}
	res, err := s.engine.Decide(ctx, snap, &s.Cfg.Rules.Config)
	if err != nil {
		return fmt.Errorf("decide: %w; nothing was closed", err)
	}
	if no = a.closable(t, snap, res.Decisions...); no != nil {
		return a.refuse(*no)
	}
	d, no := t.verdict(res, s.Cfg.Act.Kinds)
	if no != nil {
		return a.refuse(*no)
	}
	r := report.New(report.Cleanup, ulid.Make().String(), snap, p, a.ruled(snap), res, &a.Cfg.Rules.Config, snapshot.KindNames())
	mem = s.learn(mem, snap)
	if err := s.record(ctx, r.Sweep, started, r, snap, eval.Sightings(mem.Sightings, snap, res.Decisions), mem, res.Decisions); err != nil {
		return err
	}
	s.logger = s.newLogger(ctx, r, snap)
	s.later = append(s.later, s.deliver)
	act := s.actOn(ctx, r.Sweep, snap, t, d)
	if err := s.ledger.NoteActs(context.WithoutCancel(ctx), r.TakenAt, []decision.Act{act}, identities([]decision.Decision{d})); err != nil {
		s.Log.Warn("note acts", "error", err)
	}
	no, code := t.undone(act), exit.Done
	if no != nil {
		code = no.code
	}
	if err := s.ledger.FinishSweep(context.WithoutCancel(ctx), r.Sweep, time.Now(), r.Census, code); err != nil {
		return fmt.Errorf("record the end of the cleanup: %w", err)
	}
	if no != nil {
		return a.refuse(*no)
	}
	return a.cleaned(t, act, settled)
}

// cleaned says what was done.
func (a *app) cleaned(t asked, act decision.Act, settled []decision.Act) error {
	out := Cleaned{Cleaned: t.id, Act: &act, Settled: settled}
	if own := t.own(); own != nil {
		out.Worker = own.ID
	}
	return a.show(out, "", func(w io.Writer) {
		report.Acts(w, a.paint.Paint, "settled: acts that an earlier sweep was cut short in", settled)
		report.Acts(w, a.paint.Paint, "acts", []decision.Act{act})
	})
}

// closable says why a session may not be closed, by what its worker's registry and the servers say of it. A session that no registry
// records may be closed where a rule that is at ask found a reason: that rule leaves it to a person. For all other kinds the verdict alone
// says so. ds are decisions on the snapshot.
func (a *machineCore) closable(t asked, s *snapshot.Snapshot, ds ...decision.Decision) *Refused {
	if !t.session() {
		return nil
	}
	left := slices.ContainsFunc(ds, func(d decision.Decision) bool {
		return d.ID == t.id && slices.ContainsFunc(d.Findings, func(f decision.Reason) bool {
			return slices.Contains(a.Cfg.Rules.Levels, subject.RuleLevel{Rule: f.Rule, Kind: d.Kind, Level: decision.Ask})
		})
	})
	if len(t.records) == 0 {
		if blind := unreadOf(s, "registry"); blind != "" {
			return t.refused(nil, unreadable, nothingShut, "winnow doctor", "%s could not be read, so the owner of session %s is not known", blind, t.id)
		}
		if left {
			return nil
		}
		return t.refused(nil, notRecorded, nothingShut, "winnow explain "+text.Quote(t.id), "no registry records %s (%s), so whether its worker has ended is unknown",
			t.id, s.Sessions[t.id].Name)
	}
	for i := range t.records {
		w := &t.records[i]
		if no := w.Cleanup; no != nil {
			return t.refused(w, no.Reason, nothingShut, no.Next, "%s", no.Message)
		}
	}
	return nil
}

// verdict is the decision on what was asked for, without the wait, or why it may not be carried out.
func (t asked) verdict(res eval.Result, kinds []string) (decision.Decision, *Refused) {
	explain := "winnow explain " + text.Quote(t.id)
	i := slices.IndexFunc(res.Decisions, func(d decision.Decision) bool { return d.ID == t.id })
	if i < 0 {
		return decision.Decision{}, t.refused(t.own(), isKept, nothingShut, explain, "no rule claims %s", t.id)
	}
	d := waived(res.Decisions[i])
	switch {
	case d.Level != "":
		return d, t.refused(t.own(), isKept, nothingShut, explain, "%s is kept: %s would let it go, and rules.levels has it at %s, where nothing is carried out", t.id, report.Rules(d.Findings), d.Level)
	case d.Verdict != decision.Reap && len(d.Objections) == 0:
		return d, t.refused(t.own(), isKept, nothingShut, explain, "no rule found a reason to reap %s%s", t.id, t.hint())
	case d.Verdict != decision.Reap:
		no := t.refused(t.own(), isKept, nothingShut, explain, "%s is kept: %s", t.id, report.Messages(report.Real(d.Objections)))
		no.Objections = d.Objections
		if slices.ContainsFunc(d.Objections, func(o decision.Reason) bool { return o.Rule == ruleAttached }) {
			no.Reason = isAttached
		}
		return d, no
	case !slices.Contains(kinds, d.Kind):
		return d, t.refused(t.own(), notAllowed, nothingShut, "", "act.kinds does not allow to act on a %s (%s)", d.Kind, t.id)
	}
	return d, nil
}

// ruleAttached is the rule whose objection is that a client shows it.
const ruleAttached = "protect.attached"

// waived leaves the wait for a second look out of a decision: that wait is for acts that no person asked for. A process that two looks have
// shown to be at work is waited for all the same. The decision is recorded unchanged; nothing says that it was looked at twice.
func waived(d decision.Decision) decision.Decision {
	if d.AtWork() {
		return d
	}
	if d.Waits() {
		d.Verdict, d.Objections = decision.Reap, []decision.Reason{}
		return d
	}
	d.Objections = slices.DeleteFunc(slices.Clone(d.Objections), func(o decision.Reason) bool { return o.Rule == decision.RuleSeenOnce })
	if level, _ := d.Counting(); len(d.Objections) == 0 && level != "" {
		d.Level = level
	}
	return d
}

// actOn carries the one decision out. The caps of a sweep limit acts that no person asked for one by one; a cap of 0 still holds.
func (s *sweeper) actOn(ctx context.Context, sweep string, snap *snapshot.Snapshot, t asked, d decision.Decision) decision.Act {
	defer s.Hands.Begin()()
	c := s.Cfg.Act.Caps
	one := actuators.Caps{PerSweep: min(c.PerSweep, 1), PerOwner: min(c.PerOwner, 1), AllOf: []string{d.Kind}}
	j := &asking{sweeper: s, last: snap, asked: t}
	return s.carrier(snap, j, []string{d.Kind}, one).Carry(ctx, sweep, []decision.Decision{d})[0]
}

// asking judges again as a sweep does, without the wait. What was retained since the first look counts, and so does that the
// registry says something else by now.
type asking struct {
	*sweeper
	last  *snapshot.Snapshot
	asked asked
}

// Again implements actuators.Judge.
func (j *asking) Again(ctx context.Context, ds []decision.Decision) []actuators.Judgement {
	by := &judge{looker: &j.Looker, engine: j.engine, last: j.last, memory: j.remembered(ctx), asked: j.asked.word()}
	judged, s := by.again(ctx, ds)
	for i, d := range ds {
		if judged[i].Err == nil && judged[i].Decision.ID != "" {
			judged[i].Decision = j.waived(ctx, s, d.ID, judged[i].Decision)
		}
	}
	return judged
}

// waived is what another look says of what a person asked for, without the wait.
func (j *asking) waived(ctx context.Context, s *snapshot.Snapshot, id string, again decision.Decision) decision.Decision {
	again = waived(again)
	if !j.asked.session() {
		return again
	}
	t := asked{id: id, records: recording(j.Observer().See(ctx, s), id)}
	if no := j.closable(t, s, again); no != nil {
		again.Verdict = decision.Spare
		again.Objections = append(again.Objections, decision.Reason{Rule: "cleanup", Message: strings.TrimSuffix(no.Message, "; "+nothingShut)})
	}
	return again
}

// undone says that an act was begun and not done, and nil where it was.
func (t asked) undone(act decision.Act) *Refused {
	if act.Outcome.Outcome == decision.Done {
		return nil
	}
	no := &Refused{Refused: t.id, Reason: act.Outcome.Outcome, Message: act.Detail, NextCommand: "winnow history", Act: &act, code: exit.Part}
	switch act.Outcome.Outcome {
	case decision.Gone:
		no.Reason = alreadyDone
	case decision.Capped:
		no.code = exit.Capped
	}
	if own := t.own(); own != nil {
		no.Worker, no.Source = own.ID, own.Source
	}
	return no
}
