package git

import (
	"fmt"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// entry is one line of a reflog: what a ref was, what it became, and what was done.
type entry struct {
	old, new string
	message  string
}

// parseReflog reads a reflog: "<old> <new> <who> <seconds> <zone>\t<what>" a line, oldest first. One line that cannot be
// understood makes the whole unknown, since it may have named the only copy of a commit.
func parseReflog(data []byte) ([]entry, error) {
	var entries []entry
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		head, message, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		fields := strings.SplitN(head, " ", 3)
		if len(fields) < 3 || !gitsafe.IsOID(fields[0]) || !gitsafe.IsOID(fields[1]) {
			return nil, fmt.Errorf("line %d is no entry", n)
		}
		entries = append(entries, entry{old: fields[0], new: fields[1], message: message})
	}
	return entries, nil
}

// made says whether an entry's message tells of a commit that was made here, and not of a ref that only moved: a checkout,
// a reset, a fast-forward, the start and the end of a rebase.
func made(message string) bool {
	what, detail, _ := strings.Cut(message, ":")
	if strings.Contains(strings.ToLower(detail), "fast-forward") && !strings.HasPrefix(what, "commit") {
		return false
	}
	verb, rest, _ := strings.Cut(what, " ")
	switch verb {
	case "commit", "cherry-pick", "revert", "am", "merge":
		return true
	case "rebase":
		return step(rest)
	case "pull":
		return strings.Contains(detail, "Merge made") || (strings.Contains(rest, "(") && step(rest))
	}
	return false
}

// step says whether a rebase's part in brackets made a commit. "rebase: <subject>", without brackets, is what older versions
// wrote for each commit that was put back.
func step(rest string) bool {
	open := strings.LastIndexByte(rest, '(')
	if open < 0 {
		return !strings.Contains(rest, "finished")
	}
	switch strings.TrimSuffix(rest[open+1:], ")") {
	case "start", "finish", "abort", "reset":
		return false
	}
	return true
}

// commitsMade gives the commits that the reflogs say were made. The same commit stands in the reflog of HEAD and in that of the branch.
func commitsMade(logs ...[]entry) map[string]bool {
	seen := map[string]bool{}
	for _, log := range logs {
		for _, e := range log {
			if made(e.message) && !gitsafe.IsZero(e.new) {
				seen[e.new] = true
			}
		}
	}
	return seen
}
