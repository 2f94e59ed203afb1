package alarm_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/alarm"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

var (
	now    = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	born   = now.Add(-24 * time.Hour)
	limits = alarm.Limits{Min: 3, Collapse: 0.8, Remember: 168 * time.Hour, SourceFailingFor: 30 * time.Minute, RefusedTimes: 3}
)

// world is a machine that is looked at again and again, with what is remembered in between.
type world struct {
	memory alarm.Memory
	snap   *snapshot.Snapshot
	in     map[string]string // the candidates in scope, with their verdicts
	rules  string
	limits alarm.Limits
}

func newWorld() *world {
	w := &world{snap: &snapshot.Snapshot{
		TakenAt: now,
		Sources: map[string]snapshot.Source{
			"herdr/default": {Kind: "herdr", Status: snapshot.OK}, "tmux/default": {Kind: "tmux", Status: snapshot.OK},
			"dirs//w": {Kind: "dirs", Status: snapshot.OK}, "proc": {Kind: "processes", Status: snapshot.OK},
			"registry/one": {Kind: "registry", Status: snapshot.OK, Path: "/w/one.json"},
		},
		Tabs: map[string]snapshot.Tab{}, Sessions: map[string]snapshot.Session{}, Dirs: map[string]snapshot.Dir{},
		Processes: map[string]*snapshot.Process{}, Terminals: map[string]snapshot.Terminal{},
	}, in: map[string]string{}, rules: "mine", limits: limits}
	return w
}

// add makes n candidates of a kind that everything is known of, in scope or not, from number from on.
func (w *world) add(kind string, from, n int, in bool) {
	for i := from; i < from+n; i++ {
		id := id(kind, i)
		read := []snapshot.Pane{{ID: "p", Foreground: []snapshot.PaneProc{{PID: 1, Name: "zsh"}}, SessionPIDs: []int{1}}}
		switch kind {
		case "tab":
			w.snap.Tabs[id] = snapshot.Tab{Source: "herdr/default", Panes: read}
		case "session":
			w.snap.Sessions[id] = snapshot.Session{Source: "tmux/default", CreatedAt: &born, Panes: read}
		case "dir":
			w.snap.Dirs[id] = snapshot.Dir{Source: "dirs//w", BornAt: &born, HoldersKnown: new(true), Symlink: new(false)}
		case "process":
			w.snap.Processes[id] = &snapshot.Process{PID: i}
		case "terminal":
			w.snap.Terminals[id] = snapshot.Terminal{Source: "codev/one"}
		}
		if in {
			w.in[id] = decision.Spare
		}
	}
}

// id is such that the order of numbers is the order of ids.
func id(kind string, i int) string {
	return fmt.Sprintf(map[string]string{
		"tab": "tab:herdr/default/w1:t%03d", "session": "session:tmux/default/$%03d", "dir": "dir:/w/%03d", "process": "process:%03d@7",
		"terminal": "terminal:codev/%03d",
	}[kind], i)
}

// leave takes n candidates out of scope, close takes them off the machine.
func (w *world) leave(kind string, from, n int) {
	for i := from; i < from+n; i++ {
		delete(w.in, id(kind, i))
	}
}

func (w *world) close(kind string, from, n int) {
	w.leave(kind, from, n)
	for i := from; i < from+n; i++ {
		delete(w.snap.Tabs, id(kind, i))
		delete(w.snap.Sessions, id(kind, i))
		delete(w.snap.Dirs, id(kind, i))
		delete(w.snap.Processes, id(kind, i))
	}
}

func (w *world) source(name, status string) {
	src := w.snap.Sources[name]
	src.Status = status
	if status != snapshot.OK {
		src.Error = "it said no; ask it nicely"
	}
	w.snap.Sources[name] = src
}

// look looks once, after a while has passed, and remembers.
func (w *world) look(after time.Duration) []alarm.Alarm {
	w.snap.TakenAt = w.snap.TakenAt.Add(after)
	var ds []decision.Decision
	for _, id := range slices.Sorted(maps.Keys(w.in)) {
		kind, _, _ := strings.Cut(id, ":")
		ds = append(ds, decision.Decision{ID: id, Kind: kind, InScope: true, Verdict: w.in[id], Identity: decision.Identity{Key: "k " + id}})
	}
	next, alarms := alarm.Look(w.memory, w.snap, ds, w.rules, w.limits)
	w.memory = next
	return alarms
}

// acts says how acts went, one a candidate.
func (w *world) acts(identity string, outcome string, ids ...string) {
	outcomes := map[string]string{}
	for _, id := range ids {
		outcomes[id] = outcome
	}
	w.actsOf(identity, outcomes)
}

// actsOf are acts of one sweep, by candidate.
func (w *world) actsOf(identity string, outcomes map[string]string) {
	var acts []decision.Act
	identities := map[string]string{}
	for id, outcome := range outcomes {
		kind, _, _ := strings.Cut(id, ":")
		acts = append(acts, decision.Act{Candidate: id, Kind: kind, Label: "fix", Outcome: decision.Outcome{Outcome: outcome, Detail: "git said no"}})
		identities[id] = identity + id
	}
	w.memory = w.memory.WithActs(w.snap.TakenAt, acts, identities)
}

// rules are those of alarms, each with its candidate.
func rules(alarms []alarm.Alarm) []string {
	out := []string{}
	for _, a := range alarms {
		out = append(out, strings.TrimSpace(a.Rule+" "+a.Candidate))
	}
	return out
}

func want(t *testing.T, alarms []alarm.Alarm, want ...string) {
	t.Helper()
	if d := cmp.Diff(append([]string{}, want...), rules(alarms)); d != "" {
		t.Fatalf("alarms (-want +got):\n%s\n%v", d, alarms)
	}
}

// says wants one alarm that has every part.
func says(t *testing.T, alarms []alarm.Alarm, parts ...string) {
	t.Helper()
	if len(alarms) != 1 {
		t.Fatalf("got %d alarms; want 1: %v", len(alarms), alarms)
	}
	for _, p := range parts {
		if !strings.Contains(alarms[0].Message, p) {
			t.Errorf("%q does not say %q", alarms[0].Message, p)
		}
	}
}

func clock(t time.Time) string { return t.Local().Format(time.DateTime) }

// actsOpen says of an act on a candidate that it is not known how it went.
func (w *world) actsOpen(id string) {
	kind, _, _ := strings.Cut(id, ":")
	act := decision.Act{Candidate: id, Kind: kind, Outcome: decision.Outcome{Outcome: decision.Failed, Open: true}}
	w.memory = w.memory.WithActs(w.snap.TakenAt, []decision.Act{act}, nil)
}
