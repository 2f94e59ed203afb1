package codequality_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/internal/sys/codequality"
	"github.com/winnow-reaper/winnow/internal/sys/sarif"
)

func TestNew(t *testing.T) {
	t.Parallel()
	at := func(file string, line int) sarif.Finding {
		return sarif.Finding{Rule: "r", Level: sarif.Error, Message: "m", File: file, Line: line}
	}
	got := codequality.New("/w", []sarif.Finding{
		at("/w/a.rego", 4), at("a.rego", 9), at("/elsewhere/b.rego", 0),
		{Rule: "s", Level: sarif.Warning, Message: "m", File: "c", Line: 1}, {Rule: "s", Level: sarif.Note, Message: "n", File: "c", Line: 1},
	})
	fingerprints := map[string]bool{}
	for i := range got {
		fingerprints[got[i].Fingerprint] = true
		got[i].Fingerprint = ""
	}
	in := func(path string, line int) codequality.Location {
		return codequality.Location{Path: path, Lines: codequality.Lines{Begin: line}}
	}
	want := []codequality.Issue{
		{Description: "m", CheckName: "r", Severity: "critical", Location: in("a.rego", 4)},
		{Description: "m", CheckName: "r", Severity: "critical", Location: in("a.rego", 9)},
		{Description: "m", CheckName: "r", Severity: "critical", Location: in("/elsewhere/b.rego", 1)},
		{Description: "m", CheckName: "s", Severity: "major", Location: in("c", 1)},
		{Description: "n", CheckName: "s", Severity: "info", Location: in("c", 1)},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(fingerprints) != len(want) {
		t.Errorf("%d findings have %d fingerprints", len(want), len(fingerprints))
	}
}

// TestAFingerprintIsOfNoLine: what moved is the same finding, and a report without findings is a list all the same.
func TestAFingerprintIsOfNoLine(t *testing.T) {
	t.Parallel()
	of := func(line int) string {
		return codequality.New("/w", []sarif.Finding{{Rule: "r", Level: sarif.Error, Message: "m", File: "a", Line: line}})[0].Fingerprint
	}
	if of(1) != of(7) {
		t.Error("the fingerprint changes with the line")
	}
	if got := codequality.New("/w", nil); got == nil {
		t.Error("no findings are nil")
	}
}
