package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/strict"
	"github.com/winnow-reaper/winnow/internal/sys/plain"
	"github.com/winnow-reaper/winnow/internal/text"
)

// layerOf is the layer that a tree belongs to.
func layerOf(t policy.Tree) string {
	switch {
	case t.Name == embeddedTree:
		return report.LayerShipped
	case t.Published:
		return report.LayerOrganisation
	}
	return report.LayerUser
}

// bundleTree begins the names of the trees of bundles that the configuration names.
const bundleTree = "bundle:"

// calledLayer is a tree in a message.
func calledLayer(t policy.Tree) string {
	if t.Published {
		return "bundle " + strings.TrimPrefix(t.Name, bundleTree)
	}
	return t.Name
}

// nameLayers says of every rule that fired which layer it is of, where it is not the shipped one.
func nameLayers(p *policy.Policy, fired []explain.Fired) {
	for i := range fired {
		f := &fired[i]
		at := slices.IndexFunc(p.Files, func(x policy.File) bool { return x.Name == f.File })
		switch {
		case at < 0 || p.Files[at].Tree == embeddedTree:
		case strings.HasPrefix(p.Files[at].Tree, bundleTree):
			f.Layer = report.LayerOrganisation + ": bundle " + strings.TrimPrefix(p.Files[at].Tree, bundleTree)
		default:
			f.Layer = report.LayerUser + ": " + p.Files[at].Tree
		}
	}
}

// layers are what the trees of a ruleset say as layers, an organisation's first: each read whole, or refused.
func (r ruleset) layers(p *policy.Policy) ([]*config.Layer, error) {
	var out []*config.Layer
	rules := slices.Sorted(maps.Keys(p.Rules()))
	for _, published := range []bool{true, false} {
		for _, t := range r.trees {
			f, ok := p.LayerOf(t.Name)
			if !ok || t.Published != published || t.Name == embeddedTree {
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
func (r ruleset) treeOfRule(p *policy.Policy, rule policy.Rule) policy.Tree {
	i := slices.IndexFunc(p.Files, func(f policy.File) bool { return f.Name == rule.File })
	if i < 0 {
		return policy.Tree{}
	}
	j := slices.IndexFunc(r.trees, func(t policy.Tree) bool { return t.Name == p.Files[i].Tree })
	if j < 0 {
		return policy.Tree{}
	}
	return r.trees[j]
}

// layered are the layers of a ruleset, held against one another: none finds more reasons to reap than the one above it grants.
func (r ruleset) layered(p *policy.Policy) ([]*config.Layer, error) {
	layers, err := r.layers(p)
	if err != nil {
		return nil, err
	}
	return layers, r.granted(p, layers)
}

// refusedLayers takes what is wrong with layers as refusals; any other error stays.
func refusedLayers(_ []*config.Layer, err error) (policy.Refusals, error) {
	var refused policy.Refusals
	var wrong strict.Problems
	switch {
	case errors.As(err, &refused):
		return refused, nil
	case errors.As(err, &wrong):
		for _, w := range wrong {
			refused = append(refused, policy.Refusal{Class: policy.ClassLayer, File: w.File, Line: w.Line, Problem: w.Text, Fix: "docs/guides/share-policies.md has all that may stand in it"})
		}
		return refused, nil
	}
	return nil, err
}

// shown are the layers of a ruleset as a person sees them, from the top; none where what they say cannot be read.
func (r ruleset) shown(p *policy.Policy) []report.PolicyLayer {
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
		for _, t := range r.trees {
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
				one.Granted = []string{"reap.*", "levels.*", "parameters.*"}
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

// layerText is a layer in a sentence.
func layerText(l report.PolicyLayer) string {
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

// granted refuses reasons to reap that a layer adds and the layer above does not grant by name. The shipped layer grants all of them to the layer
// that stands directly below it: an organisation's where there is one, else the user's.
func (r ruleset) granted(p *policy.Policy, layers []*config.Layer) error {
	var above []string
	for _, t := range r.trees {
		if t.Published {
			above = append(above, calledLayer(t))
		}
	}
	if len(above) == 0 {
		return nil
	}
	var refused policy.Refusals
	for id, rule := range p.Rules() {
		if !strings.HasPrefix(id, "reap.") || layerOf(r.treeOfRule(p, rule)) != report.LayerUser {
			continue
		}
		if slices.ContainsFunc(layers, func(l *config.Layer) bool { return l.Published && l.Grant(id) }) {
			continue
		}
		refused = append(refused, policy.Refusal{Class: policy.ClassGrant, File: rule.File, Line: rule.Line,
			Problem: plain.Line(id + " finds reasons to reap, and the layer above, " + strings.Join(above, ", ") + ", does not grant it"),
			Fix:     "have a line in the layer.yaml of that bundle, grants: [" + id + "], or take the rule out"})
	}
	if err := refused.Err(); err != nil {
		return config.Mistakef("policies refused, nothing was decided:\n%w", err)
	}
	return nil
}
