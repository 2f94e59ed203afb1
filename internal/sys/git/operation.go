package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// operation names what is under way in a worktree, by the files that git itself looks for (wt-status.c). "" is known
// to be none, nil is unknown.
func (a *adminFolder) operation() *string {
	for _, o := range operations {
		switch {
		case !a.has(o.mark):
		case o.mark == "sequencer":
			// It is a series of reverts or one of cherry-picks, between two of its steps.
			if f, err := a.read("sequencer/todo", maxReflog); err == nil && strings.HasPrefix(string(f.Data), "revert") {
				return new("revert")
			}
			return new("cherry-pick")
		case o.mark == "rebase-apply" && exists(filepath.Join(a.path, o.mark, "applying")):
			return new("am")
		default:
			return new(o.name)
		}
	}
	return new("")
}

// operations are the marks in an admin folder, those that say most first.
var operations = []struct{ mark, name string }{
	{"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"MERGE_HEAD", "merge"}, {"MERGE_AUTOSTASH", "merge"},
	{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"BISECT_LOG", "bisect"}, {"BISECT_START", "bisect"}, {"sequencer", ""},
}

// readWriting looks for the locks that git commands hold while they write.
func (w *Worktree) readWriting(admin *adminFolder) {
	for _, name := range admin.names {
		if !strings.HasSuffix(name, ".lock") {
			continue
		}
		at, err := admin.Modified(name)
		if err != nil {
			w.Operation = nil
		}
		if w.Writing == "" || at.After(w.WrittenAt) {
			w.Writing, w.WrittenAt = name, at
		}
	}
}

// How old a file must be for it to be left from a git command that was cut short: a worktree that is being made, a lock.
const (
	MakingTime  = 24 * time.Hour
	WritingTime = 2 * MakingTime
)

// CutShort says whether a file in a worktree's entry that is so old is left from a git command that was cut short: each git process that
// runs began later, and works in none of the repository's folders. What is not known counts as at work.
func CutShort(procRoot, admin string, age, least time.Duration) bool {
	written := time.Now().Add(-age)
	all, err := proc.Scan(procRoot)
	boot, err2 := proc.BootedAt(procRoot)
	tree, err3 := EntryPath(admin)
	if age < least || errors.Join(err, err2, err3, proc.Hidden(all)) != nil {
		return false
	}
	common := filepath.Dir(filepath.Dir(admin))
	for pid, s := range all {
		if !strings.HasPrefix(s.Comm, "git") {
			continue
		}
		cwd, err := os.Readlink(filepath.Join(procRoot, strconv.Itoa(pid), "cwd"))
		if proc.Ended(err) {
			continue
		}
		here := func(folder string) bool { return proc.IsBelow(cwd, folder) }
		if err != nil || !s.Began(boot).After(written) || slices.ContainsFunc([]string{tree, common, filepath.Dir(common)}, here) {
			return false
		}
	}
	return true
}

// operationFiles are the files of an operation's folder that name commits.
var operationFiles = map[string][]string{
	"rebase-merge": {"orig-head", "onto", "stopped-sha", "amend", "autostash", "squash-onto", "rewritten-list"},
	"rebase-apply": {"orig-head", "onto", "original-commit", "autostash", "abort-safety", "rewritten"},
	"sequencer":    {"head", "abort-safety"},
}

// stateFiles lists the files in an admin folder that name commits, besides HEAD and the refs. What FETCH_HEAD names
// came from elsewhere, and AUTO_MERGE names a tree.
func (a *adminFolder) stateFiles() []string {
	var paths []string
	for _, name := range a.names {
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

// leadingOIDs reads the object names at the start of each line of a file; lines that begin with anything else name
// none.
func (a *adminFolder) leadingOIDs(rel string) ([]string, error) {
	f, err := a.read(rel, maxReflog)
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", filepath.Join(a.path, rel), err)
	}
	var oids []string
	for line := range strings.Lines(string(f.Data)) {
		for word := range strings.FieldsSeq(line) {
			if !gitsafe.IsOID(word) {
				break
			}
			oids = append(oids, word)
		}
	}
	return oids, nil
}
