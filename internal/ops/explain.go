package ops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/alarm"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/text"
)

// ExplanationSchema names the shape of Explained.
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

// Explain explains one candidate of a fresh look, or of a saved snapshot where file names one. id may be shortened.
func (o *Ops) Explain(ctx context.Context, id, file string) (out Explanation, err error) {
	e, p, err := o.Engine(ctx)
	if err != nil {
		return out, err
	}
	defer o.Close(e)
	var s *snapshot.Snapshot
	if file == "" {
		s, err = o.LookFor(ctx, sources.Scope{Peers: true}, o.LoadPriorReadOnly(ctx), e)
	} else {
		s, err = o.ReadSnapshot(ctx, file)
	}
	if err != nil {
		return out, err
	}
	if file == "" {
		if err := o.PartInFull(ctx, s, id); err != nil {
			return out, fmt.Errorf("explain %s: look into it: %w", id, err)
		}
	}
	full, err := findID(s, id)
	if err != nil {
		return out, err
	}
	if other := ThingDiffers(o.Asker, full); other != "" {
		return out, config.Mistakef("candidate %q: %s; nothing was explained", full, other)
	}
	if file == "" {
		if err := o.InFull(ctx, s, full); err != nil {
			return out, fmt.Errorf("explain %s: look into it: %w", full, err)
		}
	}
	if out, err = o.ExplainBy(ctx, e, p, s, full); err != nil || file != "" {
		return out, err
	}
	if out.Refusal, err = o.Refusal(ctx, full); err != nil {
		return out, err
	}
	out.Terminal, err = o.CheckTerminal(ctx, s, full)
	return out, err
}

// ExplainBy explains one candidate of a snapshot.
func (o *Ops) ExplainBy(ctx context.Context, e *eval.Engine, p *policy.Policy, s *snapshot.Snapshot, id string) (Explanation, error) {
	sub, ok := subject.Join(s, &o.Cfg.Rules.Config).Subject(id)
	if !ok {
		return Explanation{}, fmt.Errorf("explain %s: it cannot be judged", id)
	}
	x, err := e.Explain(ctx, sub)
	if err != nil {
		return Explanation{}, err
	}
	var other *decision.Counterfactual
	var notes []string
	if x.InScope && x.Error == "" {
		if other, err = e.Counterfactual(ctx, sub, eval.Search{}); err != nil {
			if ctx.Err() != nil {
				return Explanation{}, err
			}
			notes = append(notes, "what would change the decision was not found out: "+err.Error())
		}
	}
	out := Explanation{
		Notes:  notes,
		Schema: ExplanationSchema, Explanation: x, WouldChange: other, TakenAt: s.TakenAt, Policy: report.PolicyRef{Revision: p.Revision, Digest: p.Digest, Bundles: o.BundleRefs()}, Sources: map[string]snapshot.Source{}, Subject: sub,
	}
	nameLayers(p, out.Findings)
	nameLayers(p, out.Objections)
	ageFacts(out.Findings, time.Now())
	ageFacts(out.Objections, time.Now())
	out.Main = report.Main(Decided(out), s, &o.Cfg.Rules.Config, p)
	for name := range sub.EvidenceSources {
		out.Sources[name] = s.Sources[name]
	}
	return out, nil
}

// ageFacts says of every fact how long ago it was read.
func ageFacts(fired []explain.Fired, now time.Time) {
	for _, f := range fired {
		for i := range f.Facts {
			if at := f.Facts[i].AsOf; at != nil {
				f.Facts[i].Age = new(max(0, now.Sub(*at).Round(time.Millisecond).Seconds()))
			}
		}
	}
}

// Decided is the decision that an explanation is of, with the reasons that count.
func Decided(x Explanation) decision.Decision {
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

// nameLayers says of every rule that fired which layer it is of, where it is not the shipped one.
func nameLayers(p *policy.Policy, fired []explain.Fired) {
	for i := range fired {
		f := &fired[i]
		at := slices.IndexFunc(p.Files, func(x policy.File) bool { return x.Name == f.File })
		switch {
		case at < 0 || p.Files[at].Tree == ruleset.EmbeddedName:
		case strings.HasPrefix(p.Files[at].Tree, ruleset.BundleTree):
			f.Layer = report.LayerOrganisation + ": bundle " + strings.TrimPrefix(p.Files[at].Tree, ruleset.BundleTree)
		default:
			f.Layer = report.LayerUser + ": " + p.Files[at].Tree
		}
	}
}

// LayerText is a layer in a sentence.
func LayerText(l report.PolicyLayer) string {
	out := fmt.Sprintf("%s, %s", l.From, text.Plural(l.Rules, "rule"))
	if l.File != "" {
		out += ", with " + l.File
	}
	switch {
	case l.Layer == report.LayerShipped:
	case len(l.Granted) == 0:
		out += "; granted nothing, so it can only keep more"
	default:
		out += "; granted " + strings.Join(l.Granted, ", ")
	}
	return out
}
