package worlds

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// Engine is one for policies.
func Engine(t testing.TB, p *policy.Policy, l eval.Limits) *eval.Engine {
	t.Helper()
	return eval.New(p, l)
}

// JSON is a value as JSON.
func JSON(t testing.TB, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Three is a snapshot of three folders.
func Three() *snapshot.Snapshot {
	s := &snapshot.Snapshot{TakenAt: Now, Dirs: map[string]snapshot.Dir{}}
	for _, n := range []string{"bad-review-0000000b", "x-review-0000000a", "y-review-0000000c"} {
		s.Dirs["dir:/w/"+n] = snapshot.Dir{Source: "dirs//w", Name: n, Path: "/w/" + n}
	}
	return s
}

// JudgeApart is the beginning of a TestMain: where the test's own program is started as the process that judges apart, it is that, and ends.
func JudgeApart() {
	if len(os.Args) == 2 && os.Args[1] == sandbox.ServeArgument {
		if err := sandbox.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}
