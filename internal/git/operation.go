package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// operation names what is under way in a worktree, by the files that git itself looks for (wt-status.c). "" is known to be
// none, nil is unknown.
func (w *Worktree) operation(names map[string]os.DirEntry) *string {
	has := func(name string) bool { return names[name] != nil }
	switch {
	case has("rebase-merge"):
		return new("rebase")
	case has("rebase-apply") && exists(filepath.Join(w.AdminDir, "rebase-apply", "applying")):
		return new("am")
	case has("rebase-apply"):
		return new("rebase")
	case has("MERGE_HEAD"), has("MERGE_AUTOSTASH"):
		return new("merge")
	case has("CHERRY_PICK_HEAD"):
		return new("cherry-pick")
	case has("REVERT_HEAD"):
		return new("revert")
	case has("BISECT_LOG"), has("BISECT_START"):
		return new("bisect")
	case has("sequencer"):
		return new(w.sequence())
	}
	return new("")
}

// sequence tells a series of reverts from one of cherry-picks, between two of its steps.
func (w *Worktree) sequence() string {
	f, err := readFile(filepath.Join(w.AdminDir, "sequencer", "todo"), maxReflog)
	if err == nil && strings.HasPrefix(string(f.Data), "revert") {
		return "revert"
	}
	return "cherry-pick"
}

// operationFiles are the files of an operation's folder that name commits.
var operationFiles = map[string][]string{
	"rebase-merge": {"orig-head", "onto", "stopped-sha", "amend", "autostash", "squash-onto", "rewritten-list"},
	"rebase-apply": {"orig-head", "onto", "original-commit", "autostash", "abort-safety", "rewritten"},
	"sequencer":    {"head", "abort-safety"},
}

// stateFiles lists the files in an admin folder that name commits, besides HEAD and the refs. What FETCH_HEAD names came from
// elsewhere, and AUTO_MERGE names a tree.
func stateFiles(names map[string]os.DirEntry) []string {
	var paths []string
	for name := range names {
		for _, inner := range operationFiles[name] {
			paths = append(paths, filepath.Join(name, inner))
		}
		if name == "MERGE_AUTOSTASH" || name == "BISECT_EXPECTED_REV" ||
			strings.HasSuffix(name, "_HEAD") && name != "FETCH_HEAD" {
			paths = append(paths, name)
		}
	}
	return paths
}

// leadingOIDs reads the object names at the start of each line of a file; lines that begin with anything else name none.
func leadingOIDs(path string) ([]string, error) {
	f, err := readFile(path, maxReflog)
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	var oids []string
	for line := range strings.Lines(string(f.Data)) {
		for word := range strings.FieldsSeq(line) {
			if !IsOID(word) {
				break
			}
			oids = append(oids, word)
		}
	}
	return oids, nil
}
