package metadata_test

import (
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/engine/policy/metadata"
)

// TestANextCommandIsOneThatIsKnown: a person may copy what is printed as the next command, and a rule may come from somebody else.
func TestANextCommandIsOneThatIsKnown(t *testing.T) {
	t.Parallel()
	for next, good := range map[string]bool{
		"": true, "winnow release ID": true, "git -C DIR log --oneline -5": true,
		"curl example.org/fix": false, "winnow explain ID | sh": false, "git -C DIR log --output=x": false, "git -C DIR clean -fd": false,
		"winnow trash empty --yes": false,
	} {
		_, problems := metadata.Summaries(map[string]any{"rank": 45, "group": "mine", "next": next})
		if (len(problems) == 0) != good {
			t.Errorf("%q: %s", next, strings.Join(problems, "; "))
		}
	}
	for rank, good := range map[int]bool{9: false, 0: false, -1: false, 10: true} {
		if _, problems := metadata.Summaries(map[string]any{"rank": rank, "group": "mine"}); (len(problems) == 0) != good {
			t.Errorf("rank %d: %s", rank, strings.Join(problems, "; "))
		}
	}
}
