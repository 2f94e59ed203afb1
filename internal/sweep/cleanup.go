package sweep

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Closable says why a session may not be closed, by what its worker's registry and the servers say of it. A session that no registry
// records may be closed where a rule that is at ask found a reason: that rule leaves it to a person. For all other kinds the verdict alone
// says so. ds are decisions on the snapshot.
func (m *Machine) Closable(t Target, s *snapshot.Snapshot, ds ...decision.Decision) *document.Declined {
	if !t.session() {
		return nil
	}
	left := slices.ContainsFunc(ds, func(d decision.Decision) bool {
		return d.ID == t.ID && slices.ContainsFunc(d.Findings, func(f decision.Reason) bool {
			return slices.Contains(m.Cfg.Rules.Levels, subject.RuleLevel{Rule: f.Rule, Kind: d.Kind, Level: decision.Ask})
		})
	})
	if len(t.Records) == 0 {
		if blind := UnreadOf(s, "registry"); blind != "" {
			return t.Declined(nil, Unreadable, nothingShut, "winnow doctor", "%s could not be read, so the owner of session %s is not known", blind, t.ID)
		}
		if left {
			return nil
		}
		return t.Declined(nil, notRecorded, nothingShut, "winnow explain "+text.Quote(t.ID), "no registry records %s (%s), so whether its worker has ended is unknown",
			t.ID, s.Sessions[t.ID].Name)
	}
	for i := range t.Records {
		w := &t.Records[i]
		if no := w.Cleanup; no != nil {
			return t.Declined(w, no.Reason, nothingShut, no.Next, "%s", no.Message)
		}
	}
	return nil
}

// Verdict is the decision on what was asked for, without the wait, or why it may not be carried out.
func (t Target) Verdict(res eval.Result, kinds []string) (decision.Decision, *document.Declined) {
	explain := "winnow explain " + text.Quote(t.ID)
	i := slices.IndexFunc(res.Decisions, func(d decision.Decision) bool { return d.ID == t.ID })
	if i < 0 {
		return decision.Decision{}, t.Declined(t.Owner(), isKept, nothingShut, explain, "no rule claims %s", t.ID)
	}
	d := waived(res.Decisions[i])
	switch {
	case d.Level != "":
		return d, t.Declined(t.Owner(), isKept, nothingShut, explain, "%s is kept: %s would let it go, and rules.levels has it at %s, where nothing is carried out", t.ID, report.Rules(d.Findings), d.Level)
	case d.Verdict != decision.Reap && len(d.Objections) == 0:
		return d, t.Declined(t.Owner(), isKept, nothingShut, explain, "no rule found a reason to reap %s%s", t.ID, t.hint())
	case d.Verdict != decision.Reap:
		no := t.Declined(t.Owner(), isKept, nothingShut, explain, "%s is kept: %s", t.ID, report.Messages(report.Real(d.Objections)))
		no.Objections = d.Objections
		if slices.ContainsFunc(d.Objections, func(o decision.Reason) bool { return o.Rule == decision.RuleAttached }) {
			no.Reason = isAttached
		}
		return d, no
	case !slices.Contains(kinds, d.Kind):
		return d, t.Declined(t.Owner(), notAllowed, nothingShut, "", "act.kinds does not allow to act on a %s (%s)", d.Kind, t.ID)
	}
	return d, nil
}

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
	d.Objections = slices.DeleteFunc(slices.Clone(d.Objections), func(o decision.Reason) bool { return o.Rule == decision.RuleDebounce })
	if level, _ := d.Counting(); len(d.Objections) == 0 && level != "" {
		d.Level = level
	}
	return d
}

// CleanUp records what was decided of what a person asked for, carries it out, and records how it went.
func (s *Sweeper) CleanUp(ctx context.Context, started time.Time, snap *snapshot.Snapshot, mem look.PriorState, t Target, res eval.Result, d decision.Decision) (act decision.Act, err error) {
	r := report.New(report.Cleanup, ulid.Make().String(), snap, s.Policy, s.Ruled(snap), res, &s.Cfg.Rules.Config, snapshot.KindNames())
	mem = s.Learn(mem, snap)
	if err := s.Record(ctx, started, r, snap, eval.Sightings(mem.Sightings, snap, res.Decisions), mem, res.Decisions); err != nil {
		return act, err
	}
	s.Logger = s.NewLogger(ctx, r, snap)
	s.Later = append(s.Later, s.Deliver)
	act = s.actOn(ctx, r.Sweep, snap, t, d)
	if err := s.Ledger.NoteActs(context.WithoutCancel(ctx), r.TakenAt, []decision.Act{act}, identities([]decision.Decision{d})); err != nil {
		s.Log.Warn("note acts", "error", err)
	}
	_, code := t.Undone(act)
	if err := s.Ledger.FinishSweep(context.WithoutCancel(ctx), r.Sweep, time.Now(), r.Census, code); err != nil {
		return act, fmt.Errorf("record the end of the cleanup: %w", err)
	}
	return act, nil
}

// actOn carries the one decision out. The caps of a sweep limit acts that no person asked for one by one; a cap of 0 still holds.
func (s *Sweeper) actOn(ctx context.Context, sweep string, snap *snapshot.Snapshot, t Target, d decision.Decision) decision.Act {
	defer s.Hands.Begin()()
	c := s.Cfg.Act.Caps
	one := actuators.Caps{PerSweep: min(c.PerSweep, 1), PerOwner: min(c.PerOwner, 1), AllOf: []string{d.Kind}}
	j := &asking{Sweeper: s, last: snap, asked: t}
	return s.carrier(snap, j, []string{d.Kind}, one).Carry(ctx, sweep, []decision.Decision{d})[0]
}

// asking judges again as a sweep does, without the wait. What was retained since the first look counts, and so does that the
// registry says something else by now.
type asking struct {
	*Sweeper
	last  *snapshot.Snapshot
	asked Target
}

// Rejudge implements actuators.Judge.
func (j *asking) Rejudge(ctx context.Context, ds []decision.Decision) []actuators.Judgement {
	by := &judge{looker: &j.Looker, engine: j.Engine, last: j.last, memory: j.Remembered(ctx), asked: j.asked.Word()}
	judged, s := by.rejudge(ctx, ds)
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
	t := Target{ID: id, Records: Recording(j.Observer().See(ctx, s), id)}
	if no := j.Closable(t, s, again); no != nil {
		again.Verdict = decision.Spare
		again.Objections = append(again.Objections, decision.Reason{Rule: "cleanup", Message: strings.TrimSuffix(no.Message, "; "+nothingShut)})
	}
	return again
}

// Undone says that an act was begun and not done, with the exit code of that, and gives nil where it was done.
func (t Target) Undone(act decision.Act) (*document.Declined, int) {
	if act.Outcome.Outcome == decision.Done {
		return nil, exit.Done
	}
	no, code := &document.Declined{Refused: t.ID, Reason: act.Outcome.Outcome, Message: act.Detail, NextCommand: "winnow history", Act: &act}, exit.Part
	switch act.Outcome.Outcome {
	case decision.Gone:
		no.Reason = alreadyDone
	case decision.Capped:
		code = exit.Capped
	}
	if own := t.Owner(); own != nil {
		no.Worker, no.Source = own.ID, own.Source
	}
	return no, code
}
