package document

import (
	"time"

	"github.com/winnow-reaper/winnow/engine/alarm"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/report"
)

// ExplanationSchema names the shape of Explanation.
const ExplanationSchema = "winnow.explanation/v1"

// Explanation is what winnow explain prints as JSON: the engine's explanation, and where the facts came from. docs/reference/schemas/explanation.json is
// generated from it.
type Explanation struct {
	Schema string `json:"schema" jsonschema:"enum=winnow.explanation/v1"`
	explain.Explanation
	// WouldChange is what would have to be otherwise for the other verdict; absent where no rule claims the candidate, and where it was not found
	// out.
	WouldChange *decision.Counterfactual `json:"would_change,omitempty"`
	TakenAt     time.Time                `json:"taken_at"`
	Policy      report.PolicyRef         `json:"policy"`
	// Main is the one reason that says most to a person.
	Main *decision.Main `json:"main,omitempty"`
	// Sources are those that the candidate, or evidence about it, rests on.
	Sources map[string]snapshot.Source `json:"sources"`
	// Refusal is what came of acts on it that came to nothing; only for a fresh look.
	Refusal *alarm.Refusal `json:"refusal,omitempty"`
	// Terminal answers why a terminal whose builder is gone stays; only for a fresh look at one.
	Terminal []Answer `json:"terminal,omitempty"`
	// Notes say what was not found out.
	Notes []string `json:"notes,omitempty"`
	// Subject is what the policies judged.
	Subject *subject.Subject `json:"subject"`
}

// Answer is one question about a terminal that stays although its builder is gone, and what is known of it.
type Answer struct {
	Question string `json:"question"`
	// Answer is yes, no or unknown.
	Answer string `json:"answer" jsonschema:"enum=yes,enum=no,enum=unknown"`
	Detail string `json:"detail"`
}

// Decision is the decision that is explained, with the reasons that count.
func (x Explanation) Decision() decision.Decision {
	d := decision.Decision{ID: x.ID, Kind: x.Kind, Label: x.Label, Verdict: x.Verdict, Level: x.Level, InScope: x.InScope}
	for _, f := range x.Findings {
		if f.Level != decision.Off {
			d.Findings = append(d.Findings, f.Reason)
		}
	}
	for _, f := range x.Objections {
		if f.Level != decision.Off {
			d.Objections = append(d.Objections, f.Reason)
		}
	}
	if x.Subject != nil {
		d.Owner, d.About = x.Subject.Owner, x.Subject.About()
	}
	return d
}
