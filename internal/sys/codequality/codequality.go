// Package codequality writes findings in files as GitLab's code quality report, which a merge request shows beside the lines
// (https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format).
package codequality

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/sarif"
)

// Issue is one finding.
type Issue struct {
	Description string `json:"description"`
	CheckName   string `json:"check_name"`
	// Fingerprint tells findings apart, and stays the same when lines above are added or removed.
	Fingerprint string   `json:"fingerprint"`
	Severity    string   `json:"severity"`
	Location    Location `json:"location"`
}

// Location is a line of a file, by its path in the repository.
type Location struct {
	Path  string `json:"path"`
	Lines Lines  `json:"lines"`
}

// Lines has the first line of a finding, counted from 1.
type Lines struct {
	Begin int `json:"begin"`
}

// severities are the words for the levels of SARIF.
var severities = map[string]string{sarif.Error: "critical", sarif.Warning: "major", sarif.Note: "info"}

// New makes a report; it is never nil. root is the absolute path of the repository's folder: paths below it are written from there, and those that
// are elsewhere as they are.
func New(root string, findings []sarif.Finding) []Issue {
	issues := make([]Issue, 0, len(findings))
	seen := map[string]int{}
	for _, f := range findings {
		path := filepath.Clean(f.File)
		if inside, err := filepath.Rel(root, path); err == nil && filepath.IsAbs(path) && inside != ".." && !strings.HasPrefix(inside, "../") {
			path = inside
		}
		same := f.Rule + "\x00" + path + "\x00" + f.Message
		sum := sha256.Sum256([]byte(same + "\x00" + strconv.Itoa(seen[same])))
		seen[same]++
		issues = append(issues, Issue{
			Description: f.Message, CheckName: f.Rule, Fingerprint: hex.EncodeToString(sum[:16]), Severity: severities[f.Level],
			Location: Location{Path: path, Lines: Lines{Begin: max(1, f.Line)}},
		})
	}
	return issues
}
