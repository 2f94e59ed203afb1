package policy_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// TestWhatIsRecordedOfABranchDecidesNothing puts everything that suggests that work has landed, and that is no proof of it, into every world
// that a case about a folder plays in, and then what suggests the opposite. Every decision stays what it was.
func TestWhatIsRecordedOfABranchDecidesNothing(t *testing.T) {
	stage.NeedSecond(t, "thousands of worlds are decided")
	if attack.Raced {
		t.Skip("hundreds of worlds are decided three times, in which nothing runs beside anything: without the race detector, as .ci/run does")
	}
	t.Parallel()
	e := shipped(t)
	seen := make(chan int, 1)
	seen <- 0
	t.Run("worlds", func(t *testing.T) {
		for name, c := range cases(t) {
			folder := func(id string) bool { return strings.HasPrefix(id, snapshot.KindDir+":") }
			if !slices.ContainsFunc(slices.Collect(maps.Keys(c.Want)), folder) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				config := configOf(t, c)
				without := decide(t, e, config, worldOf(t, c))
				changed := 0
				for _, with := range []struct {
					gone  bool
					state string
				}{{true, snapshot.PullMerged}, {false, snapshot.PullOpen}} {
					world := parse(t, worldOf(t, c))
					for id, d := range world.Dirs {
						if d.Git == nil {
							continue
						}
						d.Git.Followed, d.Git.FollowedGone = "refs/remotes/origin/x", &with.gone
						d.Git.PullRequests = &[]snapshot.PullRequest{{By: "Graphite", Number: new(int64(12)), State: with.state, Head: d.Git.Head}}
						world.Dirs[id] = d
						changed++
					}
					for i := range world.Registry {
						world.Registry[i].PullRequest = &snapshot.PullRequest{By: "Shepherd", Number: new(int64(12)), State: with.state}
					}
					if diff := cmp.Diff(without, judged(t, e, config, world)); diff != "" {
						t.Errorf("recorded as %s (-without +with):\n%s", with.state, diff)
					}
				}
				seen <- <-seen + changed
			})
		}
	})
	if n := <-seen; n < 100 {
		t.Errorf("%d checkouts were given records, want more", n)
	}
}
