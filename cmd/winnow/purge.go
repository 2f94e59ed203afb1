package main

import (
	"context"
	"fmt"
	"time"

	"winnow/actuators"
	"winnow/cmd/winnow/config"
	"winnow/cmd/winnow/report"
	"winnow/cmd/winnow/text"
	"winnow/engine/decision"
	"winnow/engine/snapshot"
	"winnow/ledger"
)

// purge removes for good what was set aside and has been kept for its time: by the wall clock, and by what looks counted since, for
// the one can be set to anything and the other cannot.
func (s *sweeper) purge(ctx context.Context, r *report.Report, snap *snapshot.Snapshot) {
	failed := func(err error) {
		r.Alarms = append(r.Alarms, report.Alarm{Rule: "trash", Message: fmt.Sprintf("the trash could not be read: %v; it was left untouched", err)})
	}
	if _, err := s.adopt(ctx, snap); err != nil {
		failed(err)
		return
	}
	expired, err := s.ledger.Expired(ctx, time.Now())
	if err != nil {
		failed(err)
		return
	}
	if len(expired) == 0 {
		return
	}
	if why := s.unsteady(snap); why != "" {
		s.note("%s in the trash that %s past by the clock; %s, so nothing was removed for good", text.Plural(len(expired), "act"), are(len(expired)), why)
		return
	}
	var intents []decision.Intent
	for _, rec := range expired {
		intents = append(intents, rec.Intent)
	}
	byKind := s.actuators(snap.Host, intendedRoots(intents))
	defer s.hands.take()()
	for _, rec := range expired {
		restorer, ok := byKind[rec.Intent.Kind].(actuators.Restorer)
		if !ok || ctx.Err() != nil || !s.waited(ctx, r, rec) {
			continue
		}
		freed, err := restorer.Purge(context.WithoutCancel(ctx), rec.Intent)
		if err != nil {
			r.Alarms = append(r.Alarms, report.Alarm{Rule: "trash", Message: fmt.Sprintf("%s could not be purged: %v", rec.Intent.ID, err)})
			continue
		}
		if err := s.ledger.MarkPurged(context.WithoutCancel(ctx), rec.Intent.ID, time.Now()); err != nil {
			s.log.Warn("record purge", "act", rec.Intent.ID, "error", err)
		}
		r.Purged = append(r.Purged, report.Purged{Act: rec.Intent.ID, Candidate: rec.Intent.Candidate, Bytes: freed})
	}
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// unsteady says why the clocks cannot be relied on now, or nothing.
func (s *sweeper) unsteady(snap *snapshot.Snapshot) string {
	since, wait := snap.Host.SteadySince, config.Seconds(s.cfg.Rules.SteadyFor)
	switch {
	case since == nil:
		return "since when its clock is steady is not known"
	case snap.TakenAt.Sub(*since) < wait:
		return fmt.Sprintf("the machine booted, resumed or changed its clock less than rules.steady_for (%s) ago", wait)
	}
	return ""
}

// waited reports whether an act's things were kept for their time by what looks counted.
func (s *sweeper) waited(ctx context.Context, r *report.Report, rec ledger.Act) bool {
	ttl := rec.Intent.RestoreUntil.Sub(rec.Intent.At)
	waited, err := s.ledger.Waited(ctx, rec.Intent.ID)
	if err != nil {
		r.Alarms = append(r.Alarms, report.Alarm{Rule: "trash", Message: fmt.Sprintf("%s could not be purged: %v", rec.Intent.ID, err)})
		return false
	}
	if waited < ttl {
		s.note("%s in the trash is past its time by the clock, and this machine counted %s of %s since: it is kept until then", rec.Intent.ID, text.Span(waited), text.Span(ttl))
		return false
	}
	return true
}
