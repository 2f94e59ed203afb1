// Package policyset is what people who write, review and ship policies do with folders of them: check, format and pack them.
package policyset

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/policies"
)

// Trees are the trees that a person names, on top of the embedded policies where these are wanted; without any, those of the configuration. unused are
// policies that were named in a way that counts for the configuration alone.
func Trees(ctx context.Context, o *ops.Ops, folders, unused []string) ([]policy.Tree, error) {
	if len(folders) == 0 {
		trees, err := o.Trees(ctx)
		if err != nil {
			return nil, err
		}
		published, err := o.PublishedTrees(ctx)
		trees = append(trees, published...)
		for i := range trees { // without a folder of one's own the embedded ones are what is meant
			trees[i].Beside = (trees[i].Name == ruleset.EmbeddedName || trees[i].Published) && len(trees) > 1
		}
		return trees, err
	}
	if len(unused) > 0 {
		o.Note("--policy is not used, since folders were named: %s", strings.Join(unused, ", "))
	}
	var trees []policy.Tree
	if o.Cfg.Policy.Embedded {
		trees = append(trees, policy.Tree{Name: ruleset.EmbeddedName, FS: policies.Files, Beside: true})
	}
	for _, name := range folders {
		if st, err := os.Stat(name); err == nil && !st.IsDir() && filepath.Ext(name) == ".rego" {
			return nil, config.Usagef("%s is a file, and a rule's package is its folder: give the folder of the tree%s. Nothing was read", text.Quote(name), treeOf(name))
		}
		t, err := o.NamedTree(ctx, name)
		if err != nil {
			return nil, err
		}
		trees = append(trees, t)
	}
	return trees, nil
}

// treeOf guesses the tree that a file lies in by the names of families above it; "" when it is missing.
func treeOf(file string) string {
	for dir := filepath.Dir(filepath.Clean(file)); dir != "." && dir != "/"; dir = filepath.Dir(dir) {
		if slices.Contains([]string{"reap", "protect", "lib", "main"}, filepath.Base(dir)) {
			return ", " + text.Quote(filepath.Dir(dir))
		}
	}
	return ""
}

// Names are the names of the trees that are not the embedded one, and whether that is among them.
func Names(trees []policy.Tree) (names []string, embedded bool) {
	names = []string{}
	for _, t := range trees {
		if t.Name == ruleset.EmbeddedName {
			embedded = true
		} else {
			names = append(names, t.Name)
		}
	}
	return names, embedded
}

// Read reads trees with their tests.
func Read(ctx context.Context, o policy.LoadOptions) (*policy.Sources, error) {
	s, err := policy.Read(ctx, o)
	if err != nil {
		return nil, ruleset.PolicyError(ctx, err)
	}
	return s, nil
}

// Refusals takes the refusals out of an error; any other error stays.
func Refusals(err error) ([]lint.Refusal, error) {
	if rs := (lint.Refusals)(nil); errors.As(err, &rs) {
		return rs, nil
	}
	return nil, err
}

// refusedLayers takes what is wrong with layers as refusals; any other error stays.
func refusedLayers(_ []*config.Layer, err error) (lint.Refusals, error) {
	var refused lint.Refusals
	var wrong strict.Problems
	switch {
	case errors.As(err, &refused):
		return refused, nil
	case errors.As(err, &wrong):
		for _, w := range wrong {
			refused = append(refused, lint.Refusal{Class: lint.ClassLayer, File: w.File, Line: w.Line, Problem: w.Text, Fix: "docs/guides/share-policies.md has all that may stand in it"})
		}
		return refused, nil
	}
	return nil, err
}

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
			return nil, config.Usagef("--rules-of: %w", err)
		}
		r := ruleset.Set{Trees: trees, Cfg: cfg}
		if err := r.Check(sources.Unbuilt(checked.Rules)); err != nil {
			return nil, err
		}
	}
	exceptions := report.Exceptions(sources.Exceptions(), time.Now(), nil)
	doc := report.PolicyCheck{
		Schema: report.PolicyCheckSchema, Exceptions: exceptions, OK: len(checked.Refused) == 0, Rules: []string{}, Layers: layers, Kinds: append([]string{}, checked.Kinds...),
		Problems: append([]lint.Refusal{}, checked.Refused...), Advice: slices.Concat([]lint.Refusal{}, checked.Advice, report.Advice(exceptions)), Passed: sources.Passed(),
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
