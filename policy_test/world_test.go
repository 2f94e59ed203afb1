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
	all, err := policytest.Incidents()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// worldOf is the case's snapshot, remembered sightings among it.
func worldOf(t *testing.T, c Case) document {
	t.Helper()
	doc, err := c.Document()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// configOf is what the policies see as input.config in a case.
func configOf(t *testing.T, c Case) *subject.Config {
	t.Helper()
	config, err := c.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func parse(t *testing.T, doc document) *snapshot.Snapshot {
	t.Helper()
	s, err := policytest.Parse(doc)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func plain(t *testing.T, v any) document {
	t.Helper()
	out, err := policytest.Plain(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// shipped is an engine over the policies that Winnow ships with, and over trees of one's own on top.
func shipped(t *testing.T, more ...policy.Tree) *eval.Engine {
	t.Helper()
	trees := append(slices.Clone(embedded), more...)
	p, err := policy.Load(t.Context(), policy.LoadOptions{Trees: trees})
	if err != nil {
		t.Fatal(err)
	}
	return eval.New(p, eval.Limits{Timeout: time.Minute, Workers: 1})
}

var embedded = []policy.Tree{{Name: "embedded", FS: policies.Files, Prefix: "policies"}}
