package eval_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"winnow/engine/decision"
	"winnow/engine/eval"
	"winnow/engine/snapshot"
)

// TestWhatIsThisUsers counts what the caps take a share of: whatever was seen, in scope or not, but of processes only those that are
// positively this user's and alive. A process is counted under no owner.
func TestWhatIsThisUsers(t *testing.T) {
	t.Parallel()
	world := func(change func(s *snapshot.Snapshot)) *snapshot.Snapshot {
		s := &snapshot.Snapshot{
			Schema: snapshot.Schema, TakenAt: now, Host: snapshot.Host{UID: new(1000)},
			Processes: map[string]snapshot.Process{
				"process:1@1": {PID: 1, StartTicks: 1, UID: new(0), Name: "init"},
				"process:2@1": {PID: 2, StartTicks: 1, UID: new(1000), Name: "kthreadd", Kernel: new(true)},
				"process:3@1": {PID: 3, StartTicks: 1, UID: new(1000), Name: "vi"},
				"process:4@1": {PID: 4, StartTicks: 1, UID: new(1000), Name: "make"},
				"process:5@1": {PID: 5, StartTicks: 1, Name: "hidden"},
				"process:6@1": {PID: 6, StartTicks: 1, UID: new(1000), Name: "ended", State: "Z", Threads: new(1)},
				"process:7@1": {PID: 7, StartTicks: 1, UID: new(1001), Name: "theirs"},
			},
			Sessions: map[string]snapshot.Session{
				"session:tmux/a/$0": {Source: "tmux/a", Name: "main"}, "session:tmux/a/$1": {Source: "tmux/a", Name: "worker-1"},
				"session:tmux/b/$0": {Source: "tmux/b", Name: "main"},
			},
			Dirs: map[string]snapshot.Dir{
				"dir:/w/a": {Source: "dirs//w", Path: "/w/a", Root: "/w", Git: &snapshot.Git{Main: "/repo"}},
				"dir:/w/b": {Source: "dirs//w", Path: "/w/b", Root: "/w"},
			},
		}
		if change != nil {
			change(s)
		}
		return s
	}
	want := map[string]decision.Seen{
		"process":  {Total: 2},
		"session":  {Total: 3, ByOwner: map[string]int{"tmux/a": 2, "tmux/b": 1}},
		"dir":      {Total: 2, ByOwner: map[string]int{"/repo": 1, "/w": 1}},
		"tab":      {ByOwner: map[string]int{}},
		"terminal": {ByOwner: map[string]int{}},
	}
	for _, e := range []*eval.Engine{ready(t, shipped(t), eval.Limits{}), apart(t, eval.Limits{}, embedded)} {
		r, err := e.Decide(t.Context(), world(nil), config())
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, r.Ours); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		r, err = e.Decide(t.Context(), world(func(s *snapshot.Snapshot) { s.Host.UID = nil }), config())
		if err != nil || r.Ours["process"].Total != 0 {
			t.Errorf("it is not known who this user is, and yet %+v are counted as theirs (%v)", r.Ours["process"], err)
		}
	}
}
