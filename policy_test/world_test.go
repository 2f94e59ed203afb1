// Package policy_test holds whole snapshots against the policies that Winnow ships with: a sentence, what is different in the
// world, and the decisions that are wanted.
package policy_test

import (
	"slices"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/policytest"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

type (
	// Case is one file in cases, Want a decision in it.
	Case = policytest.Case
	Want = policytest.Want
	// document is a snapshot as plain JSON, in which facts can be taken away that Go's types would bring back.
	document = policytest.Document
)

func cases(t *testing.T) map[string]Case {
	t.Helper()
	return must.Get(policytest.Incidents())(t)
}

// worldOf is the case's snapshot, remembered sightings among it.
func worldOf(t *testing.T, c Case) document {
	t.Helper()
	return must.Get(c.Document())(t)
}

// configOf is what the policies see as input.config in a case.
func configOf(t *testing.T, c Case) *subject.Config {
	t.Helper()
	return must.Get(c.Rules())(t)
}

func parse(t *testing.T, doc document) *snapshot.Snapshot {
	t.Helper()
	return must.Get(policytest.Parse(doc))(t)
}

func plain(t *testing.T, v any) document {
	t.Helper()
	return must.Get(policytest.Plain(v))(t)
}

// shipped is an engine over the policies that Winnow ships with, and over trees of one's own on top.
func shipped(t *testing.T, more ...policy.Tree) *eval.Engine {
	t.Helper()
	trees := append(slices.Clone(embedded), more...)
	p, err := policy.Load(t.Context(), policy.LoadOptions{Trees: trees})
	must.Do(t, err)
	return eval.New(p, eval.Limits{Timeout: time.Minute, Workers: 1})
}

var embedded = []policy.Tree{{Name: "embedded", FS: policies.Files, Prefix: "policies"}}
