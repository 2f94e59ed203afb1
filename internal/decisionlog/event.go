// Package decisionlog writes decisions down for others, in the format of OPA's decision log and by its protocol.
package decisionlog

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Event is a logged decision, with the fields that OPA's have (EventV1 in v1/plugins/logs of OPA 1.22; that package is not used because it brings
// all of OPA's server).
type Event struct {
	Labels     map[string]string `json:"labels"`
	DecisionID string            `json:"decision_id"`
	Bundles    map[string]Bundle `json:"bundles,omitempty"`
	// Path is the rule that was asked.
	Path string `json:"path,omitempty"`
	// Input is the document that was judged, Result what was decided.
	Input  any `json:"input,omitempty"`
	Result any `json:"result,omitempty"`
	// Erased and Masked are the JSON pointers of what masks took out and replaced.
	Erased []string `json:"erased,omitempty"`
	Masked []string `json:"masked,omitempty"`
	// RequestedBy is the user who ran the program.
	RequestedBy string         `json:"requested_by,omitempty"`
	Timestamp   time.Time      `json:"timestamp"`
	Metrics     map[string]any `json:"metrics,omitempty"`
	// Custom is what OPA leaves to others: what Winnow knows besides.
	Custom *Custom `json:"custom,omitempty"`
}

// Bundle says which version of policies decided.
type Bundle struct {
	Revision string `json:"revision,omitempty"`
}

// Path is the rule that decides.
const Path = "policies/main/decision"

// Why a decision is logged.
const (
	Acted   = "acted"   // it was carried out, or that was begun
	Flipped = "flipped" // the sweep before decided otherwise
)

// Custom is what an event says besides OPA's fields.
type Custom struct {
	Sweep string `json:"sweep"`
	// Why is acted or flipped, Was the verdict of the sweep before, "" where the candidate was not in scope there.
	Why string `json:"why" jsonschema:"enum=acted,enum=flipped"`
	Was string `json:"was,omitempty"`
	// Act is the act that carries it out.
	Act string `json:"act,omitempty"`
	// Candidate is the id of what was decided on; a stand-in where the input is redacted.
	Candidate string `json:"candidate,omitempty"`
	// PolicyDigest is that of the policies, Chain the last link of the ledger's chain of acts when this was written.
	PolicyDigest string `json:"policy_digest"`
	Chain        string `json:"chain,omitempty"`
}

// Result is what was decided. Messages and evidence name things, and are there only where the input is logged in full.
type Result struct {
	Verdict    string   `json:"verdict"`
	Level      string   `json:"level,omitempty"`
	Findings   []Reason `json:"findings"`
	Objections []Reason `json:"objections"`
}

// Reason is why.
type Reason struct {
	Rule     string         `json:"rule"`
	Message  string         `json:"message,omitempty"`
	Evidence map[string]any `json:"evidence,omitempty"`
}

// Masker says which parts of an event are masked: engine/mask.
type Masker interface {
	Rules(ctx context.Context, event any) ([]any, error)
}

// Encode masks an event and gives it as it is logged. Where the masks cannot be asked, or say something that cannot be read, neither input nor result
// is logged: the error says so, and the event is given all the same.
func Encode(ctx context.Context, e Event, m Masker) ([]byte, error) {
	wrong := e.mask(ctx, m)
	if wrong != nil {
		e.Input, e.Result, e.Masked, e.Erased = nil, nil, nil, []string{"/input", "/result"}
		wrong = fmt.Errorf("%w; decision %s is logged without its input and its result", wrong, e.DecisionID)
	}
	data, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode decision %s: %w", e.DecisionID, err)
	}
	return data, wrong
}

func (e *Event) mask(ctx context.Context, m Masker) (err error) {
	if e.Input, err = plain(e.Input); err != nil {
		return err
	}
	if e.Result, err = plain(e.Result); err != nil || m == nil {
		return err
	}
	asked, err := plain(e)
	if err != nil {
		return err
	}
	said, err := m.Rules(ctx, asked)
	if err != nil {
		return err
	}
	for _, one := range said {
		r, err := readRule(one)
		if err != nil {
			return err
		}
		e.apply(r)
	}
	return nil
}

// Without is a document as plain JSON without one of its keys.
func Without(document any, key string) (any, error) {
	v, err := plain(document)
	if m, ok := v.(map[string]any); ok {
		delete(m, key)
	}
	return v, err
}

func plain(v any) (out any, err error) {
	if v == nil {
		return nil, nil
	}
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	return out, err
}
