package document

import "github.com/winnow-reaper/winnow/engine/decision"

// Declined is what retain, release and cleanup print as JSON when they do not do what they were asked to. It is the error of these operations too.
type Declined struct {
	// Refused is the candidate's id, or the registry's for a worker without one; Reason a word that scripts may branch on.
	Refused string `json:"refused"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Worker and Source are the registry entry's id and where it stands, where it is about one.
	Worker      string `json:"worker,omitempty"`
	Source      string `json:"source,omitempty"`
	NextCommand string `json:"next_command,omitempty"`
	// Objections are those of the policies, Act what came of the act where one was begun.
	Objections []decision.Reason `json:"objections,omitempty"`
	Act        *decision.Act     `json:"act,omitempty"`
}

// Error says what was not done, why, and what comes next.
func (d *Declined) Error() string {
	if d.NextCommand == "" {
		return d.Message
	}
	return d.Message + ". Next: " + d.NextCommand
}
