package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/engine/alarm"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/state"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
)

// alarmWorld is a sweeper with a ledger, and a machine of made-up tmux sessions that it is given.
type alarmWorld struct {
	*sweep.Sweeper
	snap *snapshot.Snapshot
	ds   []decision.Decision
	log  bytes.Buffer
}

func newAlarmWorld(t *testing.T) *alarmWorld {
	t.Helper()
	dir := t.TempDir()
	cfg := musts.Get(config.Defaults())(t)
	cfg.State = filepath.Join(dir, "state")
	w := &alarmWorld{}
	a := (&app{Ops: ops.New(state.Folder{Cfg: cfg, Log: hclog.New(&hclog.LoggerOptions{Output: &w.log})}), out: io.Discard, errOut: io.Discard}).watched()
	l := musts.Get(ledger.Open(a.LedgerPath()))(t)
	t.Cleanup(func() { l.Close() })
	w.Sweeper = &sweep.Sweeper{Machine: &a.Machine, Ledger: l, Policy: &policy.Policy{Digest: "sha256:x"}}
	w.snap = &snapshot.Snapshot{
		TakenAt: time.Now().UTC(), Sources: map[string]snapshot.Source{"tmux/default": {Kind: "tmux", Status: snapshot.OK}},
		Sessions: map[string]snapshot.Session{},
	}
	for i := range 5 {
		id := fmt.Sprintf("session:tmux/default/$%d", i)
		w.snap.Sessions[id] = snapshot.Session{Source: "tmux/default", Panes: []snapshot.Pane{{SessionPIDs: []int{1}}}}
		w.ds = append(w.ds, decision.Decision{ID: id, Kind: "session", InScope: true, Verdict: decision.Reap, Identity: decision.Identity{Key: "k"}})
	}
	return w
}

// sweepAgain is what a sweep with these decisions and acts says.
func (w *alarmWorld) sweepAgain(t *testing.T, ds []decision.Decision, acts ...decision.Act) []report.Alarm {
	t.Helper()
	w.snap.TakenAt = w.snap.TakenAt.Add(time.Hour)
	r := &report.Report{TakenAt: w.snap.TakenAt, Acts: acts}
	w.Alarms(t.Context(), r, w.snap, ds)
	return r.Alarms
}

func oneAlarm(t *testing.T, alarms []report.Alarm, rule string, parts ...string) {
	t.Helper()
	if len(alarms) != 1 || alarms[0].Rule != rule {
		t.Fatalf("got %v; want one of rule %s", alarms, rule)
	}
	for _, p := range parts {
		if !strings.Contains(alarms[0].Message, p) {
			t.Errorf("%q does not say %q", alarms[0].Message, p)
		}
	}
}

func TestAlarmsOfAScopeThatCollapsed(t *testing.T) {
	t.Parallel()
	w := newAlarmWorld(t)
	if got := w.sweepAgain(t, w.ds); len(got) != 0 {
		t.Fatalf("the first sweep gave %v", got)
	}
	oneAlarm(t, w.sweepAgain(t, nil), alarm.ScopeCollapsed, "5 of 5 sessions", "rules.session_names", "winnow explain 'session:tmux/default/$0' shows")
	oneAlarm(t, w.sweepAgain(t, nil), alarm.ScopeCollapsed)
	// The operator's own change is reported once.
	if got := w.sweepAgain(t, w.ds); len(got) != 0 {
		t.Fatalf("everything is in scope again: %v", got)
	}
	w.Cfg.File, w.Cfg.Digest = "/x/config.yaml", [32]byte{1}
	oneAlarm(t, w.sweepAgain(t, nil), alarm.ScopeCollapsed, "by the changed rules or configuration no rule claims them")
	if got := w.sweepAgain(t, nil); len(got) != 0 {
		t.Errorf("it is reported again: %v", got)
	}
}

func TestAlarmsOfWhatIsRefusedAgain(t *testing.T) {
	t.Parallel()
	w := newAlarmWorld(t)
	const id = "session:tmux/default/$3"
	refused := decision.Act{Candidate: id, Kind: "session", Label: "fix-login", Outcome: decision.Outcome{Outcome: decision.Refused, Detail: "somebody looks at it"}}
	for range w.Cfg.Alarms.RefusedTimes - 1 {
		if got := w.sweepAgain(t, w.ds, refused); len(got) != 0 {
			t.Fatalf("too early: %v", got)
		}
	}
	oneAlarm(t, w.sweepAgain(t, w.ds, refused), alarm.RefusedAgain, "fix-login", "somebody looks at it", "winnow explain 'session:tmux/default/$3'", "winnow retain 'session:tmux/default/$3' --reason")
	oneAlarm(t, w.sweepAgain(t, w.ds), alarm.RefusedAgain) // a dry run says so too

	r, err := w.Refusal(t.Context(), id)
	if err != nil || r == nil || r.Count != w.Cfg.Alarms.RefusedTimes {
		t.Fatalf("got %+v, %v", r, err)
	}
	var out bytes.Buffer
	render.Paint{Paint: text.Paint{Width: 100}}.RefusalText(&out, r)
	if !strings.Contains(out.String(), "3 times in a row") || !strings.Contains(out.String(), "refused: somebody looks at it") {
		t.Errorf("explain says %q", &out)
	}
	refused.Outcome.Outcome = decision.Done
	if got := w.sweepAgain(t, w.ds, refused); len(got) != 0 {
		t.Errorf("it is done: %v", got)
	}
	if r, err := w.Refusal(t.Context(), id); err != nil || r != nil {
		t.Errorf("got %+v, %v; want none", r, err)
	}
	out.Reset()
	if (render.Paint{Paint: text.Paint{Width: 100}}).RefusalText(&out, nil); out.Len() != 0 {
		t.Errorf("of nothing it says %q", &out)
	}
}

// Without a memory only what one look shows gives an alarm, and nothing else is wrong for it.
func TestAlarmsWithoutALedger(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(w *alarmWorld) error{
		"none":   func(w *alarmWorld) error { l := w.Ledger; w.Ledger = nil; return l.Close() },
		"broken": func(w *alarmWorld) error { return w.Ledger.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newAlarmWorld(t)
			w.sweepAgain(t, w.ds)
			musts.Do(t, breakIt(w))
			if got := w.sweepAgain(t, nil, decision.Act{Candidate: w.ds[0].ID, Kind: "session", Outcome: decision.Outcome{Outcome: decision.Failed}}); len(got) != 0 {
				t.Errorf("got %v from no memory", got)
			}
			for id, s := range w.snap.Sessions {
				s.Panes = []snapshot.Pane{{ID: "%1"}}
				w.snap.Sessions[id] = s
			}
			oneAlarm(t, w.sweepAgain(t, w.ds), alarm.LivenessUnknown, "5 sessions of tmux/default", "winnow explain 'session:tmux/default/$0' shows what is not known")
		})
	}
}

func TestWhatNamesTheRules(t *testing.T) {
	t.Parallel()
	w := newAlarmWorld(t)
	w.Cfg.File = "/x/config.yaml"
	before := w.RulesName(nil)
	for name, c := range map[string]struct {
		change func(s *sweep.Sweeper)
		env    []string
		other  bool
	}{
		"nothing":                 {func(*sweep.Sweeper) {}, nil, false},
		"other variables":         {func(*sweep.Sweeper) {}, []string{"WINNOW_FORMAT=json", "HOME=/x"}, false},
		"an upgrade of Winnow":    {func(s *sweep.Sweeper) { s.Policy = &policy.Policy{Digest: "sha256:y"} }, nil, false},
		"a variable of the rules": {func(*sweep.Sweeper) {}, []string{"WINNOW_RULES_SHELLS=sh"}, true},
		"policies of their own":   {func(s *sweep.Sweeper) { s.Cfg.Policy.Paths = []string{"/x"} }, nil, true},
		"no policies of Winnow's": {func(s *sweep.Sweeper) { s.Cfg.Policy.Embedded = false }, nil, true},
		"no file any more":        {func(s *sweep.Sweeper) { s.Cfg.File = "" }, nil, true},
		"a file that was edited":  {func(s *sweep.Sweeper) { s.Cfg.Digest[0]++ }, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := *w.Cfg
			s := &sweep.Sweeper{Machine: &sweep.Machine{Looker: look.Looker{Loader: ruleset.Loader{Folder: state.Folder{Cfg: &cfg, Log: hclog.NewNullLogger()}}}}, Policy: w.Policy}
			c.change(s)
			if got := s.RulesName(c.env); (got != before) != c.other {
				t.Errorf("another name: %v; want %v", got != before, c.other)
			}
		})
	}
}
