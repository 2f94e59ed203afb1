package worker

import (
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// command is the command for the word that the rules give for what to do next; winnow doctor where the word is not known.
func (x *looked) command(w *Seen, t then, entries []*snapshot.Entry) string {
	id := quote(w.Session)
	switch t.Next {
	case "attach":
		s := x.Sessions[w.Session]
		return attach(&s)
	case "cleanup":
		return "winnow cleanup " + id + " --safe"
	case "release":
		return "winnow release " + id
	case "history":
		return "winnow history"
	case "sessions":
		return "winnow sweep --all --kind session"
	case "report": // its registry says more of it
		if x.Sources[w.Source].Format == kapi {
			return kapi + " report " + quote(w.ID)
		}
	case "let_go": // by its registry's own command, where that is known
		if e := entries[t.Keeper]; x.format(e) == kapi {
			return release(e.ID)
		}
		if w.Session != "" {
			return "winnow explain " + id
		}
	case "explain":
		return "winnow explain " + id
	}
	return "winnow doctor"
}

func release(id string) string { return kapi + " release " + quote(id) }

// attach is the command by which a person looks at exactly this session, and not at a neighbour with a longer name.
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
