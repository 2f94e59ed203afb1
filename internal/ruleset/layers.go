package ruleset

import (
	"maps"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
)

// layerOf is the layer that a tree belongs to.
func layerOf(t policy.Tree) string {
	switch {
	case t.Name == EmbeddedName:
		return report.LayerShipped
	case t.Published:
		return report.LayerOrganisation
	}
	return report.LayerUser
}

// BundleTree begins the names of the trees of bundles that the configuration names.
const BundleTree = "bundle:"

// calledLayer is a tree in a message.
func calledLayer(t policy.Tree) string {
	if t.Published {
		return "bundle " + strings.TrimPrefix(t.Name, BundleTree)
	}
	return t.Name
}

// layers are what the trees of a ruleset say as layers, an organisation's first: each read whole, or refused.
func (r Set) layers(p *policy.Policy) ([]*config.Layer, error) {
	var out []*config.Layer
	rules := slices.Sorted(maps.Keys(p.Rules()))
	for _, published := range []bool{true, false} {
		for _, t := range r.Trees {
			f, ok := p.LayerOf(t.Name)
			if !ok || t.Published != published || t.Name == EmbeddedName {
				continue
			}
			l, err := config.ReadLayer(calledLayer(t), f.Name, f.Data())
			if err == nil {
				err = l.Check(rules, p.Parameters())
			}
			if err != nil {
				return nil, err
			}
			l.Published = published
			out = append(out, l)
		}
	}
	return out, nil
}

// treeOfRule is the tree that a rule was loaded from.
func (r Set) treeOfRule(p *policy.Policy, rule policy.Rule) policy.Tree {
	i := slices.IndexFunc(p.Files, func(f policy.File) bool { return f.Name == rule.File })
	if i < 0 {
		return policy.Tree{}
	}
	j := slices.IndexFunc(r.Trees, func(t policy.Tree) bool { return t.Name == p.Files[i].Tree })
	if j < 0 {
		return policy.Tree{}
	}
	return r.Trees[j]
}

// Layered are the layers of a ruleset, held against one another: none finds more reasons to reap than the one above it grants.
func (r Set) Layered(p *policy.Policy) ([]*config.Layer, error) {
	layers, err := r.layers(p)
	if err != nil {
		return nil, err
	}
	return layers, r.granted(p, layers)
}

// Shown are the layers of a ruleset as a person sees them, from the top; none where what they say cannot be read.
func (r Set) Shown(p *policy.Policy) []report.PolicyLayer {
	out := []report.PolicyLayer{}
	layers, err := r.layers(p)
	if err != nil {
		return out
	}
	count := map[string]int{}
	for _, rule := range p.Rules() {
		count[r.treeOfRule(p, rule).Name]++
	}
	grants, published := []string{}, false
	for _, l := range layers {
		if l.Published {
			grants = append(grants, l.Grants...)
		}
	}
	for _, layer := range []string{report.LayerShipped, report.LayerOrganisation, report.LayerUser} {
		for _, t := range r.Trees {
			if layerOf(t) != layer {
				continue
			}
			one := report.PolicyLayer{Layer: layer, From: calledLayer(t), Rules: count[t.Name], Granted: []string{}}
			switch {
			case layer == report.LayerShipped:
				one.From = "the program"
			case layer == report.LayerUser && published:
				one.Granted = grants
			default:
				one.Granted = []string{decision.ReapFamily + "*", "levels.*", "parameters.*"}
			}
			if f, ok := p.LayerOf(t.Name); ok {
				one.File = f.Name
			}
			published = published || t.Published
			out = append(out, one)
		}
	}
	return out
}

// granted refuses reasons to reap that a layer adds and the layer above does not grant by name. The shipped layer grants all of them to the layer
// that stands directly below it: an organisation's where there is one, else the user's.
func (r Set) granted(p *policy.Policy, layers []*config.Layer) error {
	var above []string
	for _, t := range r.Trees {
		if t.Published {
			above = append(above, calledLayer(t))
		}
	}
	if len(above) == 0 {
		return nil
	}
	var refused lint.Refusals
	for id, rule := range p.Rules() {
		if !decision.Reaps(id) || layerOf(r.treeOfRule(p, rule)) != report.LayerUser {
			continue
		}
		if slices.ContainsFunc(layers, func(l *config.Layer) bool { return l.Published && l.Grant(id) }) {
			continue
		}
		refused = append(refused, lint.Refusal{Class: lint.ClassGrant, File: rule.File, Line: rule.Line,
			Problem: termsafe.Line(id + " finds reasons to reap, and the layer above, " + strings.Join(above, ", ") + ", does not grant it"),
			Fix:     "have a line in the layer.yaml of that bundle, grants: [" + id + "], or take the rule out"})
	}
	if err := refused.Err(); err != nil {
		return config.Usagef("policies refused, nothing was decided:\n%w", err)
	}
	return nil
}
