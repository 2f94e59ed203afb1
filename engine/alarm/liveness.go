package alarm

import (
	"maps"
	"slices"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// users is what is known of who uses the candidates in scope of one source.
type users struct {
	kind, first, why string
	count            int
	// known is true when it is known of any of them.
	known bool
}

// tally counts a candidate. Candidates without one single fact that says who uses them are left out.
func (in claims) tally(d *decision.Decision, t snapshot.Candidate) {
	if t.Users == nil {
		return
	}
	u := in.users[t.Source]
	if u == nil {
		u = &users{kind: d.Kind, first: d.ID}
		in.users[t.Source] = u
	}
	u.count++
	u.known = u.known || t.Users.Known
	if u.why == "" {
		u.why = t.Users.Why
	}
}

// liveness raises the alarm of every source that was read, and of whose candidates in scope it is of none known who uses them: each
// of them is spared, every time. Candidates out of scope do not count: what runs in a person's own tab is not read.
func (w *watch) liveness(in claims) {
	for _, name := range slices.Sorted(maps.Keys(in.users)) {
		u := in.users[name]
		if u.known || w.s.Sources[name].Status != snapshot.OK {
			continue
		}
		k, _ := snapshot.KindOf(u.kind)
		w.alarm(LivenessUnknown, u.first, "who uses any of the %d %s of %s in scope is not known, so all of them are kept: %s",
			u.count, k.Several, name, w.whyUnknown(u.kind, u.why))
	}
}

func (w *watch) whyUnknown(kind, why string) string {
	proc := w.s.Sources[snapshot.Proc]
	switch {
	case why != "":
		return why
	case proc.Status != snapshot.OK && proc.Error != "":
		return "the processes could not be read: " + proc.Error
	case kind == snapshot.KindDir:
		return "some process of this user does not show what it uses; run as a user that may read it (root may read all), or, where it never " +
			"works in such a folder, add its name to rules.opaque_processes"
	}
	return "the processes in its panes could not be read, or are not on this machine; run as the user that they belong to"
}
