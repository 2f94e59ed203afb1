package decision

// Counterfactual says what would have to be otherwise for the other verdict. Each way was found by search and decided again: with it the verdict is
// the other one, and with a part of it alone it is not.
type Counterfactual struct {
	// Verdict is the other verdict.
	Verdict string `json:"verdict" jsonschema:"enum=reap,enum=spare"`
	// Ways are sets of facts. What stays has one: the smallest that was found. What goes has up to three, each of a single fact that would keep
	// it.
	Ways []Way `json:"ways"`
	// Decided counts the decisions that the search took.
	Decided int `json:"decided"`
	// Limit says why there is no way where there is none.
	Limit string `json:"limit,omitempty"`
}

// Way is a set of facts that would have to be otherwise together, sorted by name.
type Way []Change

// Change is one fact that would be otherwise.
type Change struct {
	// Fact is where it stands in the subject, such as input.dir.git.dirty.
	Fact string `json:"fact"`
	// From is what it is, absent where it is Unknown. To is what it would be, absent where it would be Gone.
	From any `json:"from,omitempty"`
	To   any `json:"to,omitempty"`
	// Bound is "at least" or "at most" where a number twice as great, or 0, was decided too and gives the same verdict.
	Bound string `json:"bound,omitempty" jsonschema:"enum=at least,enum=at most"`
	// Unknown is true where the subject has no such fact now, Gone where it would have none.
	Unknown bool `json:"unknown,omitempty"`
	Gone    bool `json:"gone,omitempty"`
	// Source is the source that the fact comes from, as in the report's sources; ledger for what was remembered, look for what the look
	// itself asked.
	Source string `json:"source,omitempty"`
}
