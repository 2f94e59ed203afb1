package document

// Resumed is what winnow resume prints as JSON.
type Resumed struct {
	// Resumed is false where nothing was paused.
	Resumed bool `json:"resumed"`
}
