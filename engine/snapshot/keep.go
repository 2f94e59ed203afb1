package snapshot

import "time"

// Keep is an entry that says what is to be kept, why, who says so, and until when. Of one that is a plain glob only Match.Path is known.
type Keep struct {
	Match Match  `json:"match" required:"say what is kept: match: {path: ~/code/acme}"`
	Why   string `json:"why,omitempty" required:"say why it is kept, for who reads it later" redact:"hide"`
	Who   string `json:"who,omitempty" required:"say who asked for it" redact:"hide"`
	// Until is as it is written: a day, a time, or never; "" for an entry that is a plain glob, which has no end.
	Until string `json:"until,omitempty" required:"write a day (2026-12-01), a time (2026-12-01T18:00:00Z), or never"`
	// Rules are the only rules that it keeps against, by their ids; empty for all.
	Rules []string `json:"rules,omitempty"`
	// Line is where the entry begins in its file; 0 is unknown.
	Line int `json:"line,omitempty"`
	// Tree is the tree of policies that it stands in, File the file as messages name it.
	Tree string `json:"-" redact:"blank"`
	File string `json:"-" redact:"blank"`
}

// Match says what an entry keeps: candidates that every text in it matches. Each but Kind is a glob with *, ** and ?; "" is not asked for.
type Match struct {
	ID    string `json:"id,omitempty" redact:"drop"`
	Path  string `json:"path,omitempty" redact:"glob"`
	Label string `json:"label,omitempty" redact:"glob"`
	Owner string `json:"owner,omitempty" redact:"glob"`
	Kind  string `json:"kind,omitempty" jsonschema:"enum=tab,enum=session,enum=terminal,enum=dir,enum=process"`
}

// Never is how an entry without an end is written.
const Never = "never"

// Ends is the first moment at which an entry keeps nothing any more: a day is over at its end, in UTC, so that all machines agree on it. It is nil for
// never, and known is false for what is no time.
func (k Keep) Ends() (end *time.Time, known bool) {
	if k.Until == Never {
		return nil, true
	}
	if day, err := time.Parse(time.DateOnly, k.Until); err == nil {
		return new(day.AddDate(0, 0, 1)), true
	}
	if at, err := time.Parse(time.RFC3339, k.Until); err == nil {
		return new(at.UTC()), true
	}
	return nil, false
}

// Entries are those of a project, with the file that they stand in; nil where they are not known.
func (p *Project) Entries() (out []Keep) {
	if p.Keeps == nil {
		return nil
	}
	for _, k := range *p.Keeps {
		k.Tree, k.File = "repository:"+p.Path, p.File
		out = append(out, k)
	}
	return out
}
