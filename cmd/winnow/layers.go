package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/strict"
	"github.com/winnow-reaper/winnow/internal/text"
)

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
