package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func intent(id string, at time.Time) decision.Intent {
	return decision.Intent{
		ID: id, Sweep: "s1", Candidate: "dir:/w/" + id, Kind: "dir", Label: "/w/" + id,
		Identity: decision.Identity{Key: "k", Dir: &decision.Dir{Path: "/w/" + id, Device: 1 << 63, Inode: 1<<64 - 1, BornAt: t0}},
		Findings: []decision.Reason{{Rule: "reap.dirs.landed", Message: "m"}},
		At:       at, RestoreUntil: at.Add(time.Hour), Plan: json.RawMessage(`{"trash":"/w/.winnow-trash/x"}`),
	}
}

func ids(acts []ledger.Act) []string {
	var all []string
	for _, a := range acts {
		all = append(all, a.Intent.ID)
	}
	return all
}

func TestAnActFromIntentToPurge(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	in := intent("01AAA", t0)
	must.Do(t, l.Intend(ctx, in))
	unsettled := must.Get(l.Unsettled(ctx))(t)
	if d := cmp.Diff([]decision.Intent{in}, unsettled); d != "" {
		t.Fatalf("unsettled (-want +got):\n%s", d)
	}
	if err := l.Intend(ctx, in); err == nil {
		t.Error("the same act was intended twice")
	}
	until := t0.Add(time.Hour)
	out := decision.Outcome{Outcome: decision.Done, Detail: "set aside", Freed: decision.Freed{Bytes: 5}, RestoreUntil: &until}
	must.Do(t, l.Settled(ctx, in.ID, out))
	must.Do(t, l.Settled(ctx, in.ID, out))
	if err := l.Settled(ctx, in.ID, decision.Outcome{Outcome: decision.Failed}); err == nil {
		t.Error("an act was settled again, with another outcome")
	}
	if unsettled, err := l.Unsettled(ctx); err != nil || len(unsettled) != 0 {
		t.Errorf("unsettled %v, %v; want none", unsettled, err)
	}
	all := must.Get(l.Acts(ctx, time.Time{}))(t)
	got := all[0]
	if d := cmp.Diff(ledger.Act{Intent: in, Outcome: &out}, got, cmpopts.IgnoreFields(ledger.Act{}, "SettledAt")); d != "" {
		t.Errorf("act (-want +got):\n%s", d)
	}
	if got.SettledAt == nil {
		t.Error("the time when the act was settled is missing")
	}
	for at, want := range map[time.Time][]string{until.Add(-1): nil, until: {in.ID}} {
		acts := must.Get(l.Expired(ctx, at))(t)
		must.Equal(t, want, ids(acts), "expired at %v", at)
	}
	must.Do(t, l.MarkPurged(ctx, in.ID, until))
	if acts, err := l.Expired(ctx, until); err != nil || len(acts) != 0 {
		t.Errorf("expired after the purge: %v, %v", ids(acts), err)
	}
	if err := l.MarkRestored(ctx, in.ID, until); !errors.Is(err, ledger.ErrNone) {
		t.Errorf("restoring what was purged gave %v; want ErrNone", err)
	}
}

func TestOnlyWhatWasSetAsideCanBeRestored(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	until := t0.Add(time.Hour)
	for id, out := range map[string]*decision.Outcome{
		"01AAA": {Outcome: decision.Done, RestoreUntil: &until},
		"01AAB": {Outcome: decision.Refused},
		"01AAC": nil, // cut short: what became of it is for its settling to say
		"01AAD": {Outcome: decision.Done, RestoreUntil: &until},
	} {
		must.Do(t, l.Intend(ctx, intent(id, t0)))
		if out != nil {
			must.Do(t, l.Settled(ctx, id, *out))
		}
	}
	must.Do(t, l.MarkRestored(ctx, "01AAD", t0))
	for name, list := range map[string]func() ([]ledger.Act, error){
		"restorable": func() ([]ledger.Act, error) { return l.Restorable(ctx) },
		"expired":    func() ([]ledger.Act, error) { return l.Expired(ctx, until.Add(time.Hour)) },
	} {
		acts := must.Get(list())(t)
		must.Equal(t, []string{"01AAA"}, ids(acts), "%s", name)
	}
	all := must.Get(l.Acts(ctx, time.Time{}))(t)
	must.Equal(t, []string{"01AAD", "01AAC", "01AAB", "01AAA"}, ids(all), "acts")
	if none, err := l.Acts(ctx, t0.Add(1)); err != nil || len(none) != 0 {
		t.Errorf("acts since later: %v, %v; want none", ids(none), err)
	}
}

// What has happened is written down although the sweep was stopped; what has not happened yet is not begun.
func TestAStoppedSweep(t *testing.T) {
	t.Parallel()
	l := open(t)
	must.Do(t, l.Intend(t.Context(), intent("01AAA", t0)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Intend(ctx, intent("01AAB", t0)); !errors.Is(err, context.Canceled) {
		t.Errorf("intend gave %v; want context.Canceled", err)
	}
	must.Do(t, l.Settled(ctx, "01AAA", decision.Outcome{Outcome: decision.Gone}))
	if err := l.Settled(ctx, "none", decision.Outcome{Outcome: decision.Gone}); !errors.Is(err, ledger.ErrNone) {
		t.Errorf("settling what was never intended gave %v; want ErrNone", err)
	}
	if left, err := l.Unsettled(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("unsettled %v, %v; want none", left, err)
	}
}
