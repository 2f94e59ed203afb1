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
	ok(t, l.Intend(ctx, in))
	unsettled, err := l.Unsettled(ctx)
	ok(t, err)
	if d := cmp.Diff([]decision.Intent{in}, unsettled); d != "" {
		t.Fatalf("unsettled (-want +got):\n%s", d)
	}
	if err := l.Intend(ctx, in); err == nil {
		t.Error("the same act was intended twice")
	}
	until := t0.Add(time.Hour)
	out := decision.Outcome{Outcome: decision.Done, Detail: "set aside", Freed: decision.Freed{Bytes: 5}, RestoreUntil: &until}
	ok(t, l.Settled(ctx, in.ID, out))
	ok(t, l.Settled(ctx, in.ID, out))
	if err := l.Settled(ctx, in.ID, decision.Outcome{Outcome: decision.Failed}); err == nil {
		t.Error("an act was settled again, with another outcome")
	}
	if unsettled, err := l.Unsettled(ctx); err != nil || len(unsettled) != 0 {
		t.Errorf("unsettled %v, %v; want none", unsettled, err)
	}
	all, err := l.Acts(ctx, time.Time{})
	ok(t, err)
	got := all[0]
	if d := cmp.Diff(ledger.Act{Intent: in, Outcome: &out}, got, cmpopts.IgnoreFields(ledger.Act{}, "SettledAt")); d != "" {
		t.Errorf("act (-want +got):\n%s", d)
	}
	if got.SettledAt == nil {
		t.Error("the time when the act was settled is missing")
	}
	for at, want := range map[time.Time][]string{until.Add(-1): nil, until: {in.ID}} {
		acts, err := l.Expired(ctx, at)
		ok(t, err)
		if d := cmp.Diff(want, ids(acts)); d != "" {
			t.Errorf("expired at %v (-want +got):\n%s", at, d)
		}
	}
	ok(t, l.MarkPurged(ctx, in.ID, until))
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
		ok(t, l.Intend(ctx, intent(id, t0)))
		if out != nil {
			ok(t, l.Settled(ctx, id, *out))
		}
	}
	ok(t, l.MarkRestored(ctx, "01AAD", t0))
	for name, list := range map[string]func() ([]ledger.Act, error){
		"restorable": func() ([]ledger.Act, error) { return l.Restorable(ctx) },
		"expired":    func() ([]ledger.Act, error) { return l.Expired(ctx, until.Add(time.Hour)) },
	} {
		acts, err := list()
		ok(t, err)
		if d := cmp.Diff([]string{"01AAA"}, ids(acts)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	all, err := l.Acts(ctx, time.Time{})
	ok(t, err)
	if d := cmp.Diff([]string{"01AAD", "01AAC", "01AAB", "01AAA"}, ids(all)); d != "" {
		t.Errorf("acts (-want +got):\n%s", d)
	}
	if none, err := l.Acts(ctx, t0.Add(1)); err != nil || len(none) != 0 {
		t.Errorf("acts since later: %v, %v; want none", ids(none), err)
	}
}

// What has happened is written down although the sweep was stopped; what has not happened yet is not begun.
func TestAStoppedSweep(t *testing.T) {
	t.Parallel()
	l := open(t)
	ok(t, l.Intend(t.Context(), intent("01AAA", t0)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Intend(ctx, intent("01AAB", t0)); !errors.Is(err, context.Canceled) {
		t.Errorf("intend gave %v; want context.Canceled", err)
	}
	ok(t, l.Settled(ctx, "01AAA", decision.Outcome{Outcome: decision.Gone}))
	if err := l.Settled(ctx, "none", decision.Outcome{Outcome: decision.Gone}); !errors.Is(err, ledger.ErrNone) {
		t.Errorf("settling what was never intended gave %v; want ErrNone", err)
	}
	if left, err := l.Unsettled(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("unsettled %v, %v; want none", left, err)
	}
}
