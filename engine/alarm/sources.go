package alarm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// Source remembers how the reading of a source went. One that is no longer asked, and one that is positively not there, is
// forgotten; but a configured record that was read before is missed.
type Source struct {
	// OKAt is the last look that read it whole, zero where none did.
	OKAt time.Time `json:"ok_at,omitzero"`
	// BadSince is the first look in a row that did not, and Looks how many these are; zero while it is read.
	BadSince time.Time `json:"bad_since,omitzero"`
	Looks    int       `json:"looks,omitempty"`
}

// sources raises the alarm of every source that has not been read for long.
func (w *watch) sources() {
	w.next.Sources = map[string]Source{}
	for _, name := range slices.Sorted(maps.Keys(w.s.Sources)) {
		src := w.s.Sources[name]
		after, missed := w.source(src, w.Sources[name])
		if after == (Source{}) {
			continue
		}
		w.next.Sources[name] = after
		if missed && after.Looks >= 2 && w.s.TakenAt.Sub(after.BadSince) >= w.l.SourceFailingFor {
			w.missed(name, src, after)
		}
	}
}

// source is the memory of a source after this look, the zero one where there is nothing to remember, and whether it is missed.
func (w *watch) source(src snapshot.Source, before Source) (after Source, missed bool) {
	switch {
	case src.Status == snapshot.OK:
		return Source{OKAt: w.s.TakenAt}, false
	case src.Status == snapshot.Failed, src.Status == snapshot.Absent && record(src) && !before.OKAt.IsZero():
		after = Source{OKAt: w.past(before.OKAt), BadSince: w.past(before.BadSince), Looks: before.Looks + 1}
		if after.BadSince.IsZero() {
			after.BadSince = w.s.TakenAt
		}
		return after, true
	}
	return Source{}, false
}

func (w *watch) missed(name string, src snapshot.Source, x Source) {
	if src.Path != "" {
		name += " (" + src.Path + ")"
	}
	before := "it was not read before either, as far as is remembered"
	if !x.OKAt.IsZero() {
		before = "it was last read " + clock(x.OKAt)
	}
	how := fmt.Sprintf("since %s (%s, %d looks); %s", clock(x.BadSince), span(w.s.TakenAt.Sub(x.BadSince)), x.Looks, before)
	kept := cmp.Or(rests[src.Kind], "everything that rests on it, which is every candidate, is")
	if src.Status == snapshot.Absent {
		w.alarm(SourceGone, "", "%s has not been there %s. While it is missing %s kept; put it back, or take it out of the configuration", name, how, kept)
		return
	}
	why := cmp.Or(src.Error, "no reason was given")
	w.alarm(SourceFailing, "", "%s has not been read whole %s. While that is so %s kept. The reason: %s", name, how, kept, why)
}

// rests is what a source keeps from being cleared while it is not read, by its kind, with its verb; those that are not named keep everything.
var rests = map[string]string{
	"tmux":          "its sessions and every process are",
	"herdr":         "its tabs, and everything else that rests on it, are",
	snapshot.Editor: "its tabs are",
	"codev":         "its terminals, and everything else that rests on it, are",
	"dirs":          "its folders are",
}

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
	u.why = cmp.Or(u.why, t.Users.Why)
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
		return "some process of this user does not show what it uses. Run as a user that may read it, such as root. Where it never " +
			"works in such a folder, add its name to rules.opaque_processes"
	}
	return "the processes in its panes could not be read, or are not on this machine. Run as the user that they belong to"
}
