// Package recorded is what the ledger keeps of a sweep so that it can be decided again: the redacted snapshot, what decided, and what was
// decided.
package recorded

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/redact"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/saved"
)

// Schema names the document's shape.
const Schema = "winnow.recording/v1"

// Document is a recorded sweep. Ids in it are those of the redacted snapshot.
type Document struct {
	Schema string `json:"schema"`
	Sweep  string `json:"sweep"`
	Mode   string `json:"mode"`
	// Policy says which policies decided, and Rules are the parameters that they read: the rules section of the configuration, with the parameters of
	// one's own rules and the levels.
	Policy report.PolicyRef `json:"policy"`
	Rules  subject.Config   `json:"rules"`
	// Decisions are those on all candidates in scope, sorted by id, and Digest is theirs.
	Decisions []Decided          `json:"decisions"`
	Digest    string             `json:"digest"`
	Snapshot  *snapshot.Snapshot `json:"snapshot"`
}

// Decided is a decision without what it rests on: the rules that gave reasons, each once, sorted.
type Decided struct {
	ID         string   `json:"id"`
	Kind       string   `json:"kind"`
	Verdict    string   `json:"verdict"`
	Level      string   `json:"level,omitempty"`
	Findings   []string `json:"findings"`
	Objections []string `json:"objections"`
}

// New records a sweep: r redacts its snapshot.
func New(sweep, mode string, policy report.PolicyRef, rules subject.Config, s *snapshot.Snapshot, ds []decision.Decision, r *redact.Redacter) *Document {
	d := &Document{Schema: Schema, Sweep: sweep, Mode: mode, Policy: policy, Rules: rules, Snapshot: r.Snapshot(s), Decisions: Decisions(ds, r.ID)}
	d.Digest = Digest(d.Decisions)
	return d
}

// Decisions are decisions as a recording has them, under the ids that id gives.
func Decisions(ds []decision.Decision, id func(string) string) []Decided {
	out := []Decided{}
	for _, d := range ds {
		out = append(out, Decided{ID: id(d.ID), Kind: d.Kind, Verdict: d.Verdict, Level: d.Level,
			Findings: decision.RulesOf(d.Findings), Objections: decision.RulesOf(d.Objections)})
	}
	slices.SortFunc(out, func(a, b Decided) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Digest is "sha256:" and the digest of decisions: two sets with the same one are the same decisions by the same rules.
func Digest(ds []Decided) string {
	h := sha256.New()
	for _, d := range ds {
		fmt.Fprintf(h, "%q %q %q %q %q %q\n", d.ID, d.Kind, d.Verdict, d.Level, d.Findings, d.Objections)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Decode reads a document, and refuses one of another schema, or whose decisions are not those of its digest.
func Decode(data []byte) (*Document, error) {
	var raw struct {
		Document
		Snapshot json.RawMessage `json:"snapshot"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	d := raw.Document
	switch {
	case d.Schema != Schema:
		return nil, fmt.Errorf("read recording: its schema is %.80q, and this version reads %q", d.Schema, Schema)
	case d.Digest != Digest(d.Decisions):
		return nil, fmt.Errorf("read recording of sweep %.40q: its decisions are not those of its digest: it was changed", d.Sweep)
	}
	var err error
	if d.Snapshot, err = saved.Decode(raw.Snapshot); err != nil {
		return nil, fmt.Errorf("read recording of sweep %.40q: %w", d.Sweep, err)
	}
	return &d, nil
}
