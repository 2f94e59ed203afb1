package ops

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Explain explains one candidate of a fresh look, or of a saved snapshot where file names one. id may be shortened.
func (o *Ops) Explain(ctx context.Context, id, file string) (out document.Explanation, err error) {
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
	if file != "" {
		return o.ExplainBy(ctx, e, p, s, full)
	}
	return o.explainSeen(ctx, e, p, s, full)
}

// ExplainLatest explains one candidate of a look that was made before, or of a fresh one where seen is nil. id is a whole one.
func (o *Ops) ExplainLatest(ctx context.Context, seen *snapshot.Snapshot, id string) (out document.Explanation, err error) {
	e, p, err := o.Engine(ctx)
	if err != nil {
		return out, err
	}
	defer o.Close(e)
	if seen == nil {
		if seen, err = o.LookFor(ctx, sources.Scope{}, o.LoadPriorReadOnly(ctx), e); err != nil {
			return out, err
		}
	}
	s := *seen
	if s.Dirs = maps.Clone(s.Dirs); s.Dirs == nil { // all about one folder is read into a copy
		s.Dirs = map[string]snapshot.Dir{}
	}
	if err := o.PartInFull(ctx, &s, id); err != nil {
		return out, fmt.Errorf("explain %s: look into it: %w", id, err)
	}
	if _, there := s.Find(id); !there {
		return out, errNotThere
	}
	return o.explainSeen(ctx, e, p, &s, id)
}

// errNotThere says that a candidate has gone since the look that showed it.
var errNotThere = config.Usagef("it is not there any more; nothing was done")

// explainSeen explains a candidate of a look at this machine: all about it is read, and what came of acts on it.
func (o *Ops) explainSeen(ctx context.Context, e *eval.Engine, p *policy.Policy, s *snapshot.Snapshot, id string) (out document.Explanation, err error) {
	if other := ThingDiffers(o.Asker, id); other != "" {
		return out, config.Usagef("candidate %q: %s; nothing was explained", id, other)
	}
	if err := o.InFull(ctx, s, id); err != nil {
		return out, fmt.Errorf("explain %s: look into it: %w", id, err)
	}
	if _, is := s.Processes[id]; is { // a sweep may find out that it keeps its own worktree
		if _, err := (&sweep.Sweeper{Machine: &o.Machine, Engine: e, Policy: p}).Decide(ctx, s, o.LoadPriorReadOnly(ctx)); err != nil {
			return out, fmt.Errorf("explain %s: decide: %w", id, err)
		}
	}
	if out, err = o.ExplainBy(ctx, e, p, s, id); err != nil {
		return out, err
	}
	if out.Refusal, err = o.Refusal(ctx, id); err != nil {
		return out, err
	}
	out.Terminal, err = o.CheckTerminal(ctx, s, id)
	return out, err
}

// ExplainBy explains one candidate of a snapshot.
func (o *Ops) ExplainBy(ctx context.Context, e *eval.Engine, p *policy.Policy, s *snapshot.Snapshot, id string) (document.Explanation, error) {
	sub, ok := subject.Join(s, &o.Cfg.Rules.Config).Subject(id)
	if !ok {
		return document.Explanation{}, fmt.Errorf("explain %s: it cannot be judged", id)
	}
	x, err := e.Explain(ctx, sub)
	if err != nil {
		return document.Explanation{}, err
	}
	out := document.Explanation{
		Schema: document.ExplanationSchema, Explanation: x, TakenAt: s.TakenAt, Sources: map[string]snapshot.Source{}, Subject: sub,
		Policy: report.PolicyRef{Revision: p.Revision, Digest: p.Digest, Bundles: o.BundleRefs()},
	}
	if x.InScope && x.Error == "" {
		if out.WouldChange, err = e.Counterfactual(ctx, sub, eval.Search{}); err != nil {
			if ctx.Err() != nil {
				return document.Explanation{}, err
			}
			out.Notes = append(out.Notes, "what would change the decision was not found out: "+err.Error())
		}
	}
	nameLayers(p, out.Findings)
	nameLayers(p, out.Objections)
	now := time.Now()
	for _, f := range slices.Concat(out.Findings, out.Objections) {
		for i := range f.Facts {
			if at := f.Facts[i].AsOf; at != nil { // how long ago it was read
				f.Facts[i].Age = new(max(0, now.Sub(*at).Round(time.Millisecond).Seconds()))
			}
		}
	}
	out.Main = report.Main(out.Decision(), s, &o.Cfg.Rules.Config, p)
	for name := range sub.EvidenceSources {
		out.Sources[name] = s.Sources[name]
	}
	return out, nil
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
