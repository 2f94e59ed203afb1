package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/alarm"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Alarms adds to a report what a person should look at. ds are all decisions on snap, also those of kinds that are not shown; the
// report has the acts, if there were any. Without a memory only what this look shows by itself gives an alarm.
func (s *Sweeper) Alarms(ctx context.Context, r *report.Report, snap *snapshot.Snapshot, ds []decision.Decision) {
	ctx = context.WithoutCancel(ctx) // it was seen and done, also where the sweep was interrupted since
	looked, alarms := false, []alarm.Alarm(nil)
	next := func(m alarm.Memory) (after alarm.Memory) {
		looked = true
		after, alarms = alarm.Look(m, snap, ds, s.RulesName(os.Environ()), s.Cfg.Alarms.Limits())
		return after
	}
	if s.Ledger != nil { // one that cannot be read or written remembers nothing
		if err := s.Ledger.NoteActs(ctx, r.TakenAt, r.Acts, identities(ds)); err != nil {
			s.Log.Warn("note acts", "error", err)
		}
		if err := s.Ledger.ChangeAlarmMemory(ctx, next); err != nil {
			s.Log.Warn("remember for alarms", "error", err)
		}
	}
	if !looked {
		next(alarm.Memory{})
	}
	for _, al := range alarms {
		r.Alarms = append(r.Alarms, report.Alarm{Rule: al.Rule, Message: al.Message + Next(al), Candidate: al.Candidate})
	}
}

// identities are those of what was to be reaped.
func identities(ds []decision.Decision) map[string]string {
	out := map[string]string{}
	for i := range ds {
		if d := &ds[i]; d.Verdict == decision.Reap {
			out[d.ID] = d.Identity.Key
		}
	}
	return out
}

// RulesName names what the operator decides by: their file, their variables and policies of their own. Winnow's own defaults and
// policies are left out: an upgrade that empties the scope is not a wish of theirs.
func (s *Sweeper) RulesName(env []string) string {
	sum := sha256.New()
	if s.Cfg.File != "" {
		sum.Write(s.Cfg.Digest[:])
	}
	for _, e := range slices.Sorted(slices.Values(env)) {
		for _, section := range []string{"RULES", "COLLECT", "POLICY"} {
			if strings.HasPrefix(e, config.EnvPrefix+section) {
				fmt.Fprintf(sum, "%q\n", e)
			}
		}
	}
	if p := s.Cfg.Policy; len(p.Paths)+len(p.Bundles) > 0 || !p.Embedded {
		fmt.Fprintln(sum, s.Policy.Digest)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Next is what to do about an alarm that names a candidate.
func Next(al alarm.Alarm) string {
	if al.Candidate == "" {
		return ""
	}
	id := text.Quote(al.Candidate)
	switch al.Rule {
	case alarm.RefusedAgain:
		return fmt.Sprintf("; winnow explain %s says why it is to go, winnow retain %s --reason TEXT keeps it and ends this", id, id)
	case alarm.ScopeCollapsed:
		return fmt.Sprintf("; winnow explain %s shows what the rules look for", id)
	}
	return fmt.Sprintf("; winnow explain %s shows what is not known", id)
}

// Refusal is what is remembered of acts on a candidate that came to nothing; nil: it has none.
func (m *Machine) Refusal(ctx context.Context, id string) (*alarm.Refusal, error) {
	var found *alarm.Refusal
	err := m.ReadLedger(func(l *ledger.Ledger) error {
		all, err := l.Refusals(ctx)
		if r, ok := all[id]; ok {
			found = &r
		}
		return err
	})
	return found, err
}
