package policyset

import (
	"context"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
)

// Check says what is wrong with policies. unused is as for Trees; rulesOf is a configuration whose rules section is checked too, "" for none.
func Check(ctx context.Context, o *ops.Ops, folders, unused []string, rulesOf string, advice bool) (*report.PolicyCheck, error) {
	trees, err := Trees(ctx, o, folders, unused)
	if err != nil {
		return nil, err
	}
	sources, err := Read(ctx, policy.LoadOptions{Trees: trees, Tests: true})
	if err != nil {
		return nil, err
	}
	checked, err := sandbox.Check(ctx, sources, o.Limits(), sandbox.Self(), advice)
	if err != nil {
		return nil, err
	}
	r, layers := ruleset.Set{Trees: trees, Cfg: o.Cfg}, []report.PolicyLayer{}
	if len(checked.Refused) == 0 {
		p := sources.Unbuilt(checked.Rules)
		if checked.Refused, err = refusedLayers(r.Layered(p)); err != nil {
			return nil, err
		}
		layers = r.Shown(p)
		if len(folders) == 0 && len(checked.Refused) == 0 {
			if err := r.Check(p); err != nil {
				return nil, err
			}
		}
	}
	if rulesOf != "" && len(checked.Refused) == 0 {
		cfg, err := config.Load(rulesOf, os.Environ())
		if err != nil {
			return nil, config.Mistakef("--rules-of: %w", err)
		}
		r := ruleset.Set{Trees: trees, Cfg: cfg}
		if err := r.Check(sources.Unbuilt(checked.Rules)); err != nil {
			return nil, err
		}
	}
	exceptions := report.Exceptions(sources.Exceptions(), time.Now(), nil)
	doc := report.PolicyCheck{
		Schema: report.PolicyCheckSchema, Exceptions: exceptions, OK: len(checked.Refused) == 0, Rules: []string{}, Layers: layers, Kinds: append([]string{}, checked.Kinds...),
		Problems: append([]policy.Refusal{}, checked.Refused...), Advice: slices.Concat([]policy.Refusal{}, checked.Advice, report.Advice(exceptions)), Passed: sources.Passed(),
	}
	doc.Trees, doc.Embedded = Names(trees)
	doc.Files, doc.Tests = sources.Names()
	for _, id := range slices.Sorted(maps.Keys(checked.Rules)) {
		if slices.Contains(doc.Files, checked.Rules[id].File) {
			doc.Rules = append(doc.Rules, id)
		}
	}
	return &doc, nil
}
