package worker

import (
	"cmp"
	"strings"

	"winnow/engine/snapshot"
)

func (w *Seen) is(observation, why, next string) {
	w.Observation, w.Why, w.NextCommand = observation, why, next
}

func (w *Seen) unknown(why, next string) { w.is(snapshot.WorkerUnknown, why, next) }

// unread is unknown because a source could not be read; doctor says what to do about that.
func (w *Seen) unread(why string) {
	w.Unread = true
	w.unknown(why, "winnow doctor")
}

func status(e *snapshot.Entry) string { return cmp.Or(e.Status, "that it has not ended") }

// registrys is the command by which w's registry says more of it; where that is not known, winnow says where the registry is.
func (x *looked) registrys(w *Seen) string {
	if w.Format == kapi {
		return kapi + " report " + quote(w.ID)
	}
	return "winnow doctor"
}

// release is the command by which the registry of an entry lets go of the session that it marks as retained; where none is known, the
// command that says more.
func (x *looked) release(w *Seen, e *snapshot.Entry) string {
	switch {
	case x.format(e) == kapi:
		return releaseFrom(e.ID)
	case w.Session == "":
		return "winnow doctor"
	}
	return "winnow explain " + quote(w.Session)
}

// ReleaseCommand is the command by which w's registry lets go of what it retains, where it is known to have one.
func ReleaseCommand(w *Seen) string {
	if w.Format == kapi && w.Retained {
		return releaseFrom(w.ID)
	}
	return ""
}

func releaseFrom(id string) string { return kapi + " release " + quote(id) }

// attach is the command by which a person looks at a session: that one, and no longer-named neighbour.
func attach(t *snapshot.Session) string {
	socket := ""
	if t.Server != nil && t.Server.Socket != "" {
		socket = "-S " + quote(t.Server.Socket) + " "
	}
	return "tmux " + socket + "attach -t " + quote("="+t.Name)
}

// quote makes s safe to paste into a shell. A = or ~ at the beginning means something to some of them.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+:,./-_", r)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
