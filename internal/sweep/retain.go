package sweep

import (
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/document"
)

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
