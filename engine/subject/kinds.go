package subject

import (
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// facts is what the join makes of the candidates of one kind.
type facts struct {
	// fill adds the document's facts, but for those that all kinds have, and gives the name of the candidate's source.
	fill     func(*Index, *Subject) (source string)
	identity func(*Index, string) decision.Identity
	// places are the folders in which a candidate is, "" for one that is not known.
	places func(*Index, *Subject) []string
	// rests are the kinds of sources that evidence about a candidate rests on, beside its own source and those that all kinds have in common.
	rests []string
	// served is true where the document has the server of the candidate's source.
	served bool
}

// kinds has the facts of each of snapshot.Kinds.
var kinds = map[string]facts{
	snapshot.KindTab:      {fill: (*Index).fillTab, identity: (*Index).tabIdentity, places: (*Index).tabPlaces, served: true},
	snapshot.KindSession:  {fill: (*Index).fillSession, identity: (*Index).sessionIdentity, places: (*Index).sessionPlaces},
	snapshot.KindTerminal: {fill: (*Index).fillTerminal, identity: (*Index).terminalIdentity, places: (*Index).terminalPlaces, served: true},
	// A process may belong to a pane of any multiplexer, and be any agent's.
	snapshot.KindProcess: {
		fill: (*Index).fillProcess, identity: (*Index).processIdentity, places: (*Index).processPlaces, rests: []string{"tmux", "herdr", "agents"},
	},
	// An agent may work in a folder while its process stands elsewhere.
	snapshot.KindDir: {fill: (*Index).fillDir, identity: (*Index).dirIdentity, places: (*Index).dirPlaces, rests: []string{"agents"}},
}

// kindOf is the kind of a candidate, and false where the snapshot has no such candidate.
func (j *Index) kindOf(id string) (string, bool) {
	for _, kind := range snapshot.Kinds {
		if kind.Has(j.snap, id) {
			return kind.Name, true
		}
	}
	return "", false
}
