package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/worker"
	"github.com/winnow-reaper/winnow/internal/document"
)

// The reasons of a document.Declined that are not those of policies/observe. An act that was begun and not done gives its outcome for a reason.
const (
	notTerminal  = "not_terminal"
	alreadyDone  = "closed"
	notRecorded  = "not_recorded"
	Unreadable   = "unreadable"
	isAttached   = "attached"
	isKept       = "kept"
	notAllowed   = "kind_not_allowed"
	KeptThere    = "kept_by_registry"
	BeingTaken   = "act_begun"
	NothingHeld  = "nothing was held"
	nothingShut  = "nothing was closed"
	NothingFreed = "nothing was released"
)

// Target is what a person named: a candidate, or a worker by the id that its registry gives it.
type Target struct {
	// ID is the candidate's, empty for a worker without a living session.
	ID string
	// Worker is the one that was named, nil where a candidate was. Records are the workers that record the candidate's session,
	// worker among them.
	Worker  *worker.Seen
	Records []worker.Seen
	// Mine is true when they declared that it is theirs and may go.
	Mine bool
}

// Word is what the policies get of it.
func (t Target) Word() *snapshot.Asked {
	if t.ID == "" {
		return nil
	}
	return &snapshot.Asked{ID: t.ID, By: "user", UID: os.Getuid(), Mine: t.Mine}
}

// hint says how to be the reason, where no rule found one.
func (t Target) hint() string {
	if t.Mine || !strings.HasPrefix(t.ID, snapshot.KindDir+":") {
		return ""
	}
	return " (where it is a worktree of yours that may go, say so with --mine)"
}

// Recording are the workers that record a session.
func Recording(seen []worker.Seen, id string) []worker.Seen {
	return slices.DeleteFunc(slices.Clone(seen), func(w worker.Seen) bool { return w.ID == "" || id == "" || !slices.Contains(w.Live, id) })
}

// UnreadOf is the first source of a kind that could not be read, by its name; "" where all were.
func UnreadOf(s *snapshot.Snapshot, kind string) string {
	for _, name := range slices.Sorted(maps.Keys(s.Sources)) {
		if src := s.Sources[name]; src.Kind == kind && src.Status == snapshot.Failed {
			return name
		}
	}
	return ""
}

// session reports whether what was asked for is a session, or a worker's.
func (t Target) session() bool {
	return t.Worker != nil || strings.HasPrefix(t.ID, snapshot.KindSession+":")
}

// Declined is an answer about w that says no.
func (t Target) Declined(w *worker.Seen, reason, left, next string, format string, args ...any) *document.Declined {
	r := &document.Declined{Refused: t.ID, Reason: reason, NextCommand: next, Message: fmt.Sprintf(format, args...) + "; " + left}
	if w != nil {
		r.Worker, r.Source, r.Refused = w.ID, w.Source, cmp.Or(r.Refused, w.ID)
	}
	return r
}

// Owner is the worker whose session it is: the one that was named, else the first that records it.
func (t Target) Owner() *worker.Seen {
	if t.Worker != nil {
		return t.Worker
	}
	for i := range t.Records {
		if !t.Records[i].Another {
			return &t.Records[i]
		}
	}
	return nil
}

// Keepable says why it may not be held. A session that a registry records is only kept when its worker has ended, the session is
// recorded and lives right now: before, the worker still needs it, and after, nothing is left to keep. All else can be held at any time.
func (t Target) Keepable(s *snapshot.Snapshot) *document.Declined {
	if !t.session() {
		return nil
	}
	if blind := UnreadOf(s, "registry"); blind != "" {
		return t.Declined(t.Worker, Unreadable, NothingHeld+". While it cannot be read, nothing that rests on it is reaped", "winnow doctor",
			"%s could not be read, so whether a worker that has not ended owns the session is not known", blind)
	}
	for i := range t.Records {
		// A session that was named is live, also when other things have the name; then only an owner who has not ended prevents the hold.
		w := &t.Records[i]
		if no := w.Retain; no != nil && (t.Worker != nil || no.Reason == notTerminal) {
			return t.Declined(w, no.Reason, NothingHeld, no.Next, "%s", no.Message)
		}
	}
	return nil
}

// Keeper is the worker that its own registry marks as retained.
func (t Target) Keeper() *worker.Seen {
	for i := range t.Records {
		if t.Records[i].Retained {
			return &t.Records[i]
		}
	}
	return nil
}
