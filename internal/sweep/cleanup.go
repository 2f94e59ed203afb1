package sweep

import (
	"context"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Closable says why a session may not be closed, by what its worker's registry and the servers say of it. A session that no registry
// records may be closed where a rule that is at ask found a reason: that rule leaves it to a person. For all other kinds the verdict alone
// says so. ds are decisions on the snapshot.
func (m *Machine) Closable(t Asked, s *snapshot.Snapshot, ds ...decision.Decision) *Refused {
	if !t.session() {
		return nil
	}
	left := slices.ContainsFunc(ds, func(d decision.Decision) bool {
		return d.ID == t.Id && slices.ContainsFunc(d.Findings, func(f decision.Reason) bool {
			return slices.Contains(m.Cfg.Rules.Levels, subject.RuleLevel{Rule: f.Rule, Kind: d.Kind, Level: decision.Ask})
		})
	})
	if len(t.Records) == 0 {
		if blind := UnreadOf(s, "registry"); blind != "" {
			return t.Refused(nil, Unreadable, nothingShut, "winnow doctor", "%s could not be read, so the owner of session %s is not known", blind, t.Id)
		}
		if left {
			return nil
		}
		return t.Refused(nil, notRecorded, nothingShut, "winnow explain "+text.Quote(t.Id), "no registry records %s (%s), so whether its worker has ended is unknown",
			t.Id, s.Sessions[t.Id].Name)
	}
	for i := range t.Records {
		w := &t.Records[i]
		if no := w.Cleanup; no != nil {
			return t.Refused(w, no.Reason, nothingShut, no.Next, "%s", no.Message)
		}
	}
	return nil
}

// Verdict is the decision on what was asked for, without the wait, or why it may not be carried out.
func (t Asked) Verdict(res eval.Result, kinds []string) (decision.Decision, *Refused) {
	explain := "winnow explain " + text.Quote(t.Id)
	i := slices.IndexFunc(res.Decisions, func(d decision.Decision) bool { return d.ID == t.Id })
	if i < 0 {
		return decision.Decision{}, t.Refused(t.Own(), isKept, nothingShut, explain, "no rule claims %s", t.Id)
	}
	d := waived(res.Decisions[i])
	switch {
	case d.Level != "":
		return d, t.Refused(t.Own(), isKept, nothingShut, explain, "%s is kept: %s would let it go, and rules.levels has it at %s, where nothing is carried out", t.Id, report.Rules(d.Findings), d.Level)
	case d.Verdict != decision.Reap && len(d.Objections) == 0:
		return d, t.Refused(t.Own(), isKept, nothingShut, explain, "no rule found a reason to reap %s%s", t.Id, t.hint())
	case d.Verdict != decision.Reap:
		no := t.Refused(t.Own(), isKept, nothingShut, explain, "%s is kept: %s", t.Id, report.Messages(report.Real(d.Objections)))
		no.Objections = d.Objections
		if slices.ContainsFunc(d.Objections, func(o decision.Reason) bool { return o.Rule == ruleAttached }) {
			no.Reason = isAttached
		}
		return d, no
	case !slices.Contains(kinds, d.Kind):
		return d, t.Refused(t.Own(), notAllowed, nothingShut, "", "act.kinds does not allow to act on a %s (%s)", d.Kind, t.Id)
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

// ActOn carries the one decision out. The caps of a sweep limit acts that no person asked for one by one; a cap of 0 still holds.
func (s *Sweeper) ActOn(ctx context.Context, sweep string, snap *snapshot.Snapshot, t Asked, d decision.Decision) decision.Act {
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
	asked Asked
}

// Again implements actuators.Judge.
func (j *asking) Again(ctx context.Context, ds []decision.Decision) []actuators.Judgement {
	by := &judge{looker: &j.Looker, engine: j.Engine, last: j.last, memory: j.Remembered(ctx), asked: j.asked.Word()}
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
	t := Asked{Id: id, Records: Recording(j.Observer().See(ctx, s), id)}
	if no := j.Closable(t, s, again); no != nil {
		again.Verdict = decision.Spare
		again.Objections = append(again.Objections, decision.Reason{Rule: "cleanup", Message: strings.TrimSuffix(no.Message, "; "+nothingShut)})
	}
	return again
}

// Undone says that an act was begun and not done, and nil where it was.
func (t Asked) Undone(act decision.Act) *Refused {
	if act.Outcome.Outcome == decision.Done {
		return nil
	}
	no := &Refused{Refused: t.Id, Reason: act.Outcome.Outcome, Message: act.Detail, NextCommand: "winnow history", Act: &act, Code: exit.Part}
	switch act.Outcome.Outcome {
	case decision.Gone:
		no.Reason = alreadyDone
	case decision.Capped:
		no.Code = exit.Capped
	}
	if own := t.Own(); own != nil {
		no.Worker, no.Source = own.ID, own.Source
	}
	return no
}
