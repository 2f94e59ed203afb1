package document

import (
	"github.com/winnow-reaper/winnow/internal/recorded"
	"github.com/winnow-reaper/winnow/internal/report"
)

// ReplaySchema names the shape of a Replay.
const ReplaySchema = "winnow.replay/v1"

// Replay is what winnow policy replay prints as JSON.
type Replay struct {
	Schema string           `json:"schema"`
	Policy report.PolicyRef `json:"policy"`
	// Same is true when every recorded sweep was decided as it was then.
	Same   bool            `json:"same"`
	Sweeps []ReplayedSweep `json:"sweeps"`
}

// ReplayedSweep is a recorded sweep that was decided again. Ids are stand-ins, as in the recording.
type ReplayedSweep struct {
	Sweep string `json:"sweep"`
	// Policy is what decided then, and Decisions counts what it decided.
	Policy    report.PolicyRef `json:"policy"`
	Decisions int              `json:"decisions"`
	// Differ are the candidates that are decided otherwise now.
	Differ []ChangedDecision `json:"differ"`
}

// ChangedDecision is a candidate that was decided one way and is decided in another. Either is absent where the candidate was not in scope.
type ChangedDecision struct {
	ID  string            `json:"id"`
	Was *recorded.Decided `json:"was,omitempty"`
	Now *recorded.Decided `json:"now,omitempty"`
}

// BuiltBundle is what winnow policy bundle prints as JSON.
type BuiltBundle struct {
	File string `json:"file"`
	BundleContent
	// RevisionFrom and SerialFrom say where those are from: flag, manifest, git, or digest. SerialFrom is empty where there is no serial.
	RevisionFrom string `json:"revision_from"`
	SerialFrom   string `json:"serial_from,omitempty"`
	Bytes        int    `json:"bytes"`
}

// BundleContent is what is in a bundle.
type BundleContent struct {
	Revision string   `json:"revision"`
	Serial   int64    `json:"serial,omitempty"`
	Digest   string   `json:"digest"`
	Roots    []string `json:"roots"`
	Files    int      `json:"files"`
	// Rules is how many rules it adds to those that it was loaded with.
	Rules  int  `json:"rules"`
	Signed bool `json:"signed"`
	// KeyID, Algorithm and Scope are those of the signature.
	KeyID     string `json:"key_id,omitempty"`
	Algorithm string `json:"algorithm,omitempty"`
	Scope     string `json:"scope,omitempty"`
}

// VerifiedBundle is what winnow policy verify prints as JSON.
type VerifiedBundle struct {
	File string `json:"file"`
	BundleContent
}
