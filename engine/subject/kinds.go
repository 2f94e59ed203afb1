package subject

import (
	"winnow/engine/decision"
	"winnow/engine/snapshot"
)

// facts is what the join makes of the candidates of one kind: the document's facts, the identity, and the kinds of sources that
// evidence about such a candidate rests on, beside its own source and those that all kinds have in common.
type facts struct {
	kind     string
	fill     func(*Joined, *Subject)
	identity func(*Joined, string) decision.Identity
	rests    []string
}

// kinds has the facts of each of snapshot.Kinds.
var kinds = []facts{
	{kind: snapshot.KindTab, fill: (*Joined).fillTab, identity: (*Joined).tabIdentity},
	{kind: snapshot.KindSession, fill: (*Joined).fillSession, identity: (*Joined).sessionIdentity},
	{kind: snapshot.KindTerminal, fill: (*Joined).fillTerminal, identity: (*Joined).terminalIdentity},
	// A process may belong to a pane of any multiplexer, and be any agent's.
	{kind: snapshot.KindProcess, fill: (*Joined).fillProcess, identity: (*Joined).processIdentity, rests: []string{"tmux", "herdr", "agents"}},
	{kind: snapshot.KindDir, fill: (*Joined).fillDir, identity: (*Joined).dirIdentity},
}

// facts gives those of a candidate's kind, and false where the snapshot has no such candidate.
func (j *Joined) facts(id string) (facts, bool) {
	for _, kind := range snapshot.Kinds {
		if kind.Has(j.snap, id) {
			return factsOf(kind.Name)
		}
	}
	return facts{}, false
}

func factsOf(kind string) (facts, bool) {
	for _, f := range kinds {
		if f.kind == kind {
			return f, true
		}
	}
	return facts{}, false
}
