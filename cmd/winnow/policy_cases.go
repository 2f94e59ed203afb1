package main

import (
	"context"
	"errors"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/tester"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/incidents"
	"github.com/winnow-reaper/winnow/internal/policytest"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/strict"
)

// testCases decides the cases that lie in trees, each as a test: by the embedded policies and these trees together, or by these alone.
func (a *app) testCases(ctx context.Context, trees []policy.Tree, files []policy.File, f testFlags) ([]tester.Result, error) {
	only, err := regexp.Compile(f.run)
	if err != nil {
		return nil, config.Mistakef("--run: %v; nothing was run", err)
	}
	var e *eval.Engine
	var p *policy.Policy
	var results []tester.Result
	for _, file := range files {
		name := strings.TrimSuffix(file.Path, path.Ext(file.Path))
		r := tester.Result{Name: strings.TrimSuffix(name, "/case"), File: file.Name, Line: 1, Outcome: tester.Error}
		c, err := incidents.ReadOwn(file.Name, file.Data())
		if !only.MatchString(r.Name) && (err != nil || !only.MatchString(c.Sentence)) {
			continue
		}
		if err != nil {
			results = append(results, notRead(r, err))
			continue
		}
		if e == nil { // the configuration in force says nothing of what is decided here; each case brings its own
			if e, p, err = (ruleset.Set{Trees: trees, Cfg: &config.Config{Policy: a.Cfg.Policy}}).Engine(ctx); err != nil {
				return results, err
			}
			defer e.Close()
		}
		begun := time.Now()
		r.Line = max(c.Line("sentence"), 1)
		r, err = policytest.DecideCase(ctx, e, p, c, r)
		if ctx.Err() != nil {
			return results, nil
		}
		if err != nil {
			r = notRead(r, err)
		}
		r.Seconds = time.Since(begun).Seconds()
		results = append(results, r)
	}
	return results, nil
}

// notRead is the result of a case that came to none, at the line that is wrong where that is known.
func notRead(r tester.Result, err error) tester.Result {
	r.Outcome, r.Message = tester.Error, err.Error()
	var wrong strict.Problems
	if errors.As(err, &wrong) && len(wrong) > 0 {
		r.Line = max(wrong[0].Line, 1)
		var words []string
		for _, p := range wrong {
			words = append(words, p.Error())
		}
		r.Message = strings.Join(words, "; ")
	}
	return r
}
