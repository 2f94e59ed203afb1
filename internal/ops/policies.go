package ops

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/report"
)

// Policies says what decides: layers, exceptions, and rules with their levels.
func (o *Ops) Policies(ctx context.Context) (out document.Policies, err error) {
	e, p, err := o.Engine(ctx)
	if err != nil {
		return out, err
	}
	defer o.Close(e)
	rules, err := o.Configured(ctx)
	if err != nil {
		return out, err
	}
	out = document.Policies{PolicyRef: report.PolicyRef{Revision: p.Revision, Digest: p.Digest, Bundles: o.BundleRefs()},
		Layers: rules.Shown(p), Exceptions: report.Exceptions(o.Cfg.Rules.Exceptions, time.Now(), nil), Rules: []document.Rule{}}
	for id, r := range p.Rules() {
		one := document.Rule{ID: id, Title: r.Title, Description: r.Description, File: r.File, Line: r.Line}
		for _, l := range o.Cfg.Rules.Levels {
			if l.Rule == id {
				one.Levels = append(one.Levels, l.Level+" for "+l.Kind)
			}
		}
		out.Rules = append(out.Rules, one)
	}
	slices.SortFunc(out.Rules, func(x, y document.Rule) int { return cmp.Compare(x.ID, y.ID) })
	return out, nil
}
