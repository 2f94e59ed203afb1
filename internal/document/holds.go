package document

// Released is what winnow release prints as JSON.
type Released struct {
	Released string `json:"released"`
	// Also are other holds of the same worker, on sessions that it had before.
	Also []string `json:"also,omitempty"`
	// Retained is the registry that still keeps it, and NextCommand the command that lets go of it there.
	Retained    string `json:"retained,omitempty"`
	NextCommand string `json:"next_command,omitempty"`
}

// Resumed is what winnow resume prints as JSON.
type Resumed struct {
	// Resumed is false where nothing was paused.
	Resumed bool `json:"resumed"`
}
