package eval_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/worlds"
)

func TestSightings(t *testing.T) {
	t.Parallel()
	const id, other = "session:tmux/default/$1", "session:tmux/default/$2"
	earlier, earlier2 := worlds.Now.Add(-time.Minute), worlds.Now.Add(-time.Second)
	before := snapshot.Sighting{Rule: "reap.sessions.idle_shell", Identity: "k", FirstAt: earlier, LastAt: earlier2, Count: 3}
	fresh := snapshot.Sighting{Rule: "reap.sessions.idle_shell", Identity: "k", FirstAt: worlds.Now, LastAt: worlds.Now, Count: 1}
	again := snapshot.Sighting{Rule: "reap.sessions.idle_shell", Identity: "k", FirstAt: earlier, LastAt: worlds.Now, Count: 4}
	husk := []decision.Reason{{Rule: "reap.sessions.idle_shell"}}
	objections := func(rules ...string) (out []decision.Reason) {
		for _, r := range rules {
			out = append(out, decision.Reason{Rule: r})
		}
		return out
	}
	decided := func(key string, findings, objections []decision.Reason) []decision.Decision {
		return []decision.Decision{{ID: id, Kind: "session", Findings: findings, Objections: objections, Identity: decision.Identity{Key: key}}}
	}
	const noSource = "nobody asked"
	cases := map[string]struct {
		prev   bool
		ds     []decision.Decision
		source string // of the candidate's own source; "" is ok
		gone   bool   // the candidate is not in the snapshot
		noProc bool   // the processes were not read
		want   *snapshot.Sighting
		first  bool
	}{
		"a first look that only the wait objects to":  {ds: decided("k", husk, objections("protect.debounce")), want: &fresh, first: true},
		"a first look that nothing objects to":        {ds: decided("k", husk, nil), want: &fresh, first: true},
		"a later look":                                {prev: true, ds: decided("k", husk, objections("protect.debounce")), want: &again},
		"a later look at another thing":               {prev: true, ds: decided("other", husk, objections("protect.debounce")), want: &snapshot.Sighting{Rule: "reap.sessions.idle_shell", Identity: "other", FirstAt: worlds.Now, LastAt: worlds.Now, Count: 1}, first: true},
		"a later look with another reason":            {prev: true, ds: decided("k", []decision.Reason{{Rule: "reap.sessions.finished"}}, nil), want: &snapshot.Sighting{Rule: "reap.sessions.finished", Identity: "k", FirstAt: worlds.Now, LastAt: worlds.Now, Count: 1}, first: true},
		"a later look with the reason and one more":   {prev: true, ds: decided("k", []decision.Reason{{Rule: "reap.sessions.finished"}, husk[0]}, nil), want: &again},
		"an identity that is not known":               {prev: true, ds: decided("", husk, objections("protect.debounce"))},
		"another objection clears":                    {prev: true, ds: decided("k", husk, objections("protect.debounce", "protect.live"))},
		"no reason any more clears":                   {prev: true, ds: decided("k", nil, objections("protect.debounce"))},
		"what could not be read leaves it":            {prev: true, ds: decided("k", husk, objections("protect.debounce", "protect.unknown")), want: &before},
		"what could not be judged leaves it":          {prev: true, ds: decided("k", nil, objections("policy_error")), want: &before},
		"unknown, and known to live, clears":          {prev: true, ds: decided("k", husk, objections("protect.unknown", "protect.live"))},
		"unknown remembers nothing new":               {ds: decided("k", husk, objections("protect.unknown"))},
		"out of scope clears":                         {prev: true},
		"out of scope, while a source was not read":   {prev: true, source: snapshot.Failed, want: &before},
		"live for want of processes leaves it":        {prev: true, noProc: true, ds: decided("k", nil, objections("protect.unknown", "protect.live")), want: &before},
		"live for want of its source leaves it":       {prev: true, source: snapshot.Failed, ds: decided("k", husk, objections("protect.unknown", "protect.live")), want: &before},
		"live for certain, its source unread, clears": {prev: true, source: snapshot.Failed, ds: decided("k", husk, objections("protect.live"))},
		"unread remembers nothing new":                {source: snapshot.Failed, ds: decided("k", husk, objections("protect.unknown", "protect.live"))},
		"gone clears":                                 {prev: true, gone: true},
		"gone from a source that was not read":        {prev: true, gone: true, source: snapshot.Failed, want: &before},
		"gone with its source, which is not there":    {prev: true, gone: true, source: snapshot.Absent},
		"gone from a source that nobody asked":        {prev: true, gone: true, source: noSource, want: &before},
		"there, though its source was not read whole": {prev: true, source: snapshot.Failed, ds: decided("k", husk, objections("protect.unknown")), want: &before},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &snapshot.Snapshot{TakenAt: worlds.Now, Sources: map[string]snapshot.Source{}, Sessions: map[string]snapshot.Session{other: {}}}
			if c.source != noSource {
				s.Sources["tmux/default"] = snapshot.Source{Status: map[bool]string{true: snapshot.OK, false: c.source}[c.source == ""]}
			}
			s.Sources[snapshot.Proc] = snapshot.Source{Status: map[bool]string{true: snapshot.Failed, false: snapshot.OK}[c.noProc]}
			if !c.gone {
				s.Sessions[id] = snapshot.Session{}
			}
			prev := map[string]snapshot.Sighting{}
			if c.prev {
				prev[id] = before
			}
			next := eval.Sightings(prev, s, c.ds)
			want := map[string]snapshot.Sighting{}
			if c.want != nil {
				want[id] = *c.want
			}
			if diff := cmp.Diff(want, next); diff != "" {
				t.Errorf("(-want +have):\n%s", diff)
			}
			if len(c.ds) > 0 && c.ds[0].FirstSighting != c.first {
				t.Errorf("first sighting %v", c.ds[0].FirstSighting)
			}
		})
	}
}

// TestSightingsRememberWork: since when a process was idle is kept as long as it is, and begins again with every look that saw it work,
// or could not tell.
func TestSightingsRememberWork(t *testing.T) {
	t.Parallel()
	const id = "process:5@6"
	early, then := worlds.Now.Add(-time.Hour), worlds.Now.Add(-10*time.Minute)
	measure := func(cpu float64) *decision.Work { return &decision.Work{CPU: &cpu} }
	before := snapshot.Sighting{
		Rule: "reap.processes.orphan", Identity: "k", FirstAt: early, LastAt: then, Count: 2, IdleSince: &then, Work: &snapshot.Work{CPU: new(1.0)},
	}
	again := snapshot.Sighting{Rule: before.Rule, Identity: "k", FirstAt: early, LastAt: worlds.Now, Count: 3, IdleSince: &worlds.Now, Work: &snapshot.Work{CPU: new(9.0)}}
	idle, unknown, other := again, again, again
	idle.IdleSince, idle.Work = before.IdleSince, before.Work
	unknown.Work = nil
	other.Identity, other.FirstAt, other.Count = "another", worlds.Now, 1
	for name, c := range map[string]struct {
		d    decision.Decision
		want *snapshot.Sighting
	}{
		"it was idle":     {decision.Decision{Identity: decision.Identity{Key: "k"}, Work: measure(9), Idle: true}, &idle},
		"it worked":       {decision.Decision{Identity: decision.Identity{Key: "k"}, Work: measure(9), Busy: true}, &again},
		"it is not known": {decision.Decision{Identity: decision.Identity{Key: "k"}}, &unknown},
		"it is another":   {decision.Decision{Identity: decision.Identity{Key: "another"}, Work: measure(9), Idle: true}, &other},
		"something could not be read": {decision.Decision{Identity: decision.Identity{Key: "k"}, Work: measure(9), Busy: true,
			Objections: []decision.Reason{{Rule: decision.RuleUnknown}}}, &before},
		"an agent came back": {decision.Decision{Identity: decision.Identity{Key: "k"}, Work: measure(9), Idle: true,
			Objections: []decision.Reason{{Rule: "protect.live"}}}, nil},
	} {
		s := &snapshot.Snapshot{TakenAt: worlds.Now, Processes: map[string]*snapshot.Process{id: {}}, Sources: map[string]snapshot.Source{"proc": {Status: snapshot.OK}}}
		c.d.ID, c.d.Kind, c.d.Findings = id, snapshot.KindProcess, []decision.Reason{{Rule: before.Rule}}
		want := map[string]snapshot.Sighting{}
		if c.want != nil {
			want[id] = *c.want
		}
		if diff := cmp.Diff(want, eval.Sightings(map[string]snapshot.Sighting{id: before}, s, []decision.Decision{c.d})); diff != "" {
			t.Errorf("%s (-want +have):\n%s", name, diff)
		}
	}
}

// TestSightingsOfTerminals: a Tower that is down takes away what it takes to call a terminal safe, and nothing of what was seen
// of that before. One that is up and shows somebody at work begins the wait again.
func TestSightingsOfTerminals(t *testing.T) {
	t.Parallel()
	const id = "terminal:codev/default/b26afcb2-e6ce-4410-9950-93df6cbfe922"
	reasons := func(rules ...string) (out []decision.Reason) {
		for _, r := range rules {
			out = append(out, decision.Reason{Rule: r})
		}
		return out
	}
	first, last := worlds.Now.Add(-2*time.Minute), worlds.Now
	for name, c := range map[string]struct {
		tower, other string // the states of its own source and of another one
		shown        bool
		objections   []decision.Reason
		counts       bool // whether the first look counts at the last one
	}{
		"the Tower is down":               {snapshot.Failed, snapshot.OK, true, reasons("protect.live", "protect.unknown"), true},
		"the Tower is down, nothing left": {snapshot.Failed, snapshot.OK, false, nil, true},
		"somebody is at work":             {snapshot.OK, snapshot.OK, true, reasons("protect.live"), false},
		"it could not be told":            {snapshot.OK, snapshot.OK, true, reasons("protect.live", "protect.unknown"), false},
		"another Tower is down":           {snapshot.OK, snapshot.Failed, true, reasons("protect.live", "protect.unknown"), false},
		"it was closed by somebody":       {snapshot.OK, snapshot.OK, false, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			look := func(prev map[string]snapshot.Sighting, at time.Time, tower, other string, shown bool, objections []decision.Reason) map[string]snapshot.Sighting {
				s := &snapshot.Snapshot{TakenAt: at, Terminals: map[string]snapshot.Terminal{}, Sources: map[string]snapshot.Source{
					snapshot.Proc: {Status: snapshot.OK}, "codev/default": {Status: tower}, "codev/default~1": {Status: other},
				}}
				if !shown {
					return eval.Sightings(prev, s, nil)
				}
				s.Terminals[id] = snapshot.Terminal{Source: "codev/default"}
				return eval.Sightings(prev, s, []decision.Decision{{
					ID: id, Kind: snapshot.KindTerminal, Findings: reasons("reap.terminals.ownerless"), Objections: objections, Identity: decision.Identity{Key: "k"},
				}})
			}
			waits := reasons("protect.debounce")
			seen := look(nil, first, snapshot.OK, snapshot.OK, true, waits)
			seen = look(seen, first.Add(time.Minute), c.tower, c.other, c.shown, c.objections)
			seen = look(seen, last, snapshot.OK, snapshot.OK, true, waits)
			want := snapshot.Sighting{Rule: "reap.terminals.ownerless", Identity: "k", FirstAt: last, LastAt: last, Count: 1}
			if c.counts {
				want.FirstAt, want.Count = first, 2
			}
			if diff := cmp.Diff(want, seen[id]); diff != "" {
				t.Errorf("(-want +have):\n%s", diff)
			}
		})
	}
}

// TestSightingsOfFolders: a folder's id does not name its source, so any source of folders that failed keeps it.
func TestSightingsOfFoldersAndProcesses(t *testing.T) {
	t.Parallel()
	prev := map[string]snapshot.Sighting{"dir:/w/x": {Count: 1}, "process:1@2": {Count: 1}}
	for _, c := range []struct{ dirs, proc string }{{"ok", "ok"}, {"failed", "ok"}, {"ok", "failed"}, {"absent", "absent"}} {
		s := &snapshot.Snapshot{TakenAt: worlds.Now, Sources: map[string]snapshot.Source{
			"dirs//v": {Status: snapshot.OK}, "dirs//w": {Status: c.dirs}, "proc": {Status: c.proc},
		}}
		next := eval.Sightings(prev, s, nil)
		_, dir := next["dir:/w/x"]
		_, process := next["process:1@2"]
		if dir != (c.dirs == "failed") || process != (c.proc != "ok") {
			t.Errorf("%+v: dir kept %v, process kept %v", c, dir, process)
		}
	}
}

// TestSightingsOfTabs: what was seen of a tab outlives a look at which its own server was not read, and nothing else does.
func TestSightingsOfTabs(t *testing.T) {
	t.Parallel()
	const id = "tab:herdr/default/w1:t3"
	before := snapshot.Sighting{Rule: "reap.tabs.idle_shell", Identity: "k", FirstAt: worlds.Now.Add(-time.Minute), LastAt: worlds.Now.Add(-time.Minute), Count: 1}
	reasons := func(rules ...string) (out []decision.Reason) {
		for _, r := range rules {
			out = append(out, decision.Reason{Rule: r})
		}
		return out
	}
	for name, c := range map[string]struct {
		own, other, proc string // the states of its server, of another one, and of the processes
		there            bool
		objections       []decision.Reason
		left             bool
	}{
		"nothing could be listed":                        {own: "failed", other: "ok", proc: "ok", left: true},
		"its server is gone":                             {own: "absent", other: "ok", proc: "ok"},
		"it was closed":                                  {own: "ok", other: "ok", proc: "ok"},
		"it was closed, and another server is stuck":     {own: "ok", other: "failed", proc: "ok"},
		"a pane could not be read":                       {own: "ok", other: "ok", proc: "ok", there: true, objections: reasons("protect.live", "protect.unknown")},
		"a pane could not be read for want of processes": {own: "ok", other: "ok", proc: "failed", there: true, objections: reasons("protect.live", "protect.unknown"), left: true},
		"a registry could not be read":                   {own: "ok", other: "ok", proc: "ok", there: true, objections: reasons("protect.unknown"), left: true},
		"its server speaks another protocol now":         {own: "ok", other: "ok", proc: "ok", there: true, objections: reasons("protect.untested_protocol")},
		"it is the last of its workspace now":            {own: "ok", other: "ok", proc: "ok", there: true, objections: reasons("protect.workspace", "protect.debounce")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &snapshot.Snapshot{TakenAt: worlds.Now, Sources: map[string]snapshot.Source{
				"herdr/default": {Status: c.own}, "herdr/def": {Status: c.other}, "proc": {Status: c.proc},
			}}
			var ds []decision.Decision
			if c.there {
				s.Tabs = map[string]snapshot.Tab{id: {}}
				ds = []decision.Decision{{
					ID: id, Kind: "tab", Findings: reasons("reap.tabs.idle_shell"), Objections: c.objections, Identity: decision.Identity{Key: "k"},
				}}
			}
			next := eval.Sightings(map[string]snapshot.Sighting{id: before}, s, ds)
			want := map[string]snapshot.Sighting{}
			if c.left {
				want[id] = before
			}
			if diff := cmp.Diff(want, next); diff != "" {
				t.Errorf("(-want +have):\n%s", diff)
			}
		})
	}
}
