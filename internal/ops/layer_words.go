package ops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
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
