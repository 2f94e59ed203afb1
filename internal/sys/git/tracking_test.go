package git_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// publish gives the fork a remote, origin, that has main, and a branch work that the worktree's branch follows.
func (f fork) publish() (origin string) {
	f.Helper()
	origin = filepath.Join(filepath.Dir(f.main), "origin.git")
	f.git(filepath.Dir(f.main), "init", "-q", "--bare", "-b", "main", origin)
	f.git(f.main, "remote", "add", "origin", origin)
	f.git(f.main, "push", "-q", "origin", "main")
	f.git(f.tree, "push", "-q", "-u", "origin", "work")
	return origin
}

// follows reads the worktree's records.
func (f fork) follows() *git.Worktree {
	f.Helper()
	finder := git.NewFinder()
	place := must.Get(finder.Locate(f.tree))(f)
	return must.Get(finder.Open(place.CommonDir))(f).Read(place)
}

// TestTheBranchThatIsFollowed holds the answer against what git itself says.
func TestTheBranchThatIsFollowed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		make func(f fork, origin string)
		want string
		gone bool
	}{
		"there":  {func(fork, string) {}, "refs/remotes/origin/work", false},
		"packed": {func(f fork, _ string) { f.git(f.main, "pack-refs", "--all") }, "refs/remotes/origin/work", false},
		"gone": {func(f fork, origin string) {
			f.git(origin, "branch", "-D", "work")
			f.git(f.main, "fetch", "-q", "--prune", "origin")
		}, "refs/remotes/origin/work", true},
		"gone, and refs are packed": {func(f fork, origin string) {
			f.git(f.main, "pack-refs", "--all")
			f.git(origin, "branch", "-D", "work")
			f.git(f.main, "fetch", "-q", "--prune", "origin")
		}, "refs/remotes/origin/work", true},
		"deleted there, and not fetched since": {func(f fork, origin string) { f.git(origin, "branch", "-D", "work") }, "refs/remotes/origin/work", false},
		"of another name":                      {func(f fork, _ string) { f.git(f.tree, "push", "-q", "-u", "origin", "work:other") }, "refs/remotes/origin/other", false},
		"through another refspec": {func(f fork, _ string) {
			f.git(f.main, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/mirror/x-*")
			f.git(f.main, "fetch", "-q", "origin")
		}, "refs/remotes/mirror/x-work", false},
		"none":           {func(f fork, _ string) { f.git(f.tree, "branch", "--unset-upstream") }, "", false},
		"a local branch": {func(f fork, _ string) { f.git(f.tree, "branch", "-u", "main") }, "", false},
		"an address":     {func(f fork, origin string) { f.git(f.main, "config", "branch.work.remote", origin) }, "", false},
		"a ref that is not fetched": {func(f fork, _ string) {
			f.git(f.main, "config", "remote.origin.fetch", "+refs/heads/main:refs/remotes/origin/main")
		}, "", false},
		"two refs":             {func(f fork, _ string) { f.git(f.main, "config", "--add", "branch.work.merge", "refs/heads/main") }, "", false},
		"a detached HEAD":      {func(f fork, _ string) { f.git(f.tree, "checkout", "-q", "--detach") }, "", false},
		"said by another file": {func(f fork, _ string) { f.git(f.main, "config", "include.path", "more") }, "", false},
		"a refspec that leads out": {func(f fork, _ string) {
			f.git(f.main, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/../../../*")
		}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFork(t)
			tc.make(f, f.publish())
			w := f.follows()
			if w.Followed != tc.want || (w.FollowedGone != nil) != (tc.want != "") || w.FollowedGone != nil && *w.FollowedGone != tc.gone {
				t.Errorf("followed %q, gone %v; want %q, %v", w.Followed, w.FollowedGone, tc.want, tc.gone)
			}
			if tc.want == "" {
				return
			}
			track := f.git(f.main, "for-each-ref", "--format=%(upstream) %(upstream:track)", "refs/heads/work")
			want := tc.want + " "
			if tc.gone {
				want += "[gone]"
			}
			must.Equal(t, want, track, "what git says")
		})
	}
}

// TestTheDefaultBranchOfTheOnlyRemote has remotes without a known default branch.
func TestTheDefaultBranchOfTheOnlyRemote(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		make func(f fork)
		want string
	}{
		"origin":          {func(fork) {}, "refs/remotes/origin/main"},
		"of another name": {func(f fork) { f.git(f.main, "remote", "rename", "origin", "github") }, "refs/remotes/github/main"},
		"and packed": {func(f fork) {
			f.git(f.main, "remote", "rename", "origin", "github")
			f.git(f.main, "pack-refs", "--all")
		}, "refs/remotes/github/main"},
		"with another one": {func(f fork) {
			f.git(f.main, "remote", "rename", "origin", "github")
			f.git(f.main, "remote", "add", "fork", "../fork.git")
		}, ""},
		"with another file": {func(f fork) {
			f.git(f.main, "remote", "rename", "origin", "github")
			f.git(f.main, "config", "include.path", "more")
		}, ""},
		"of a name that leads out": {func(f fork) { f.git(f.main, "config", "--rename-section", "remote.origin", "remote.../heads") }, ""},
		"with two branches":        {func(f fork) { f.git(f.main, "update-ref", "refs/remotes/origin/master", "main") }, ""},
		"without a usual branch": {func(f fork) {
			f.git(f.main, "update-ref", "refs/remotes/origin/develop", "main")
			f.git(f.main, "update-ref", "-d", "refs/remotes/origin/main")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFork(t)
			f.publish()
			tc.make(f)
			must.Equal(t, tc.want, must.Get(git.NewFinder().Open(filepath.Join(f.main, ".git")))(t).Upstream, "upstream")
		})
	}
}

func TestRecordsOfPullRequests(t *testing.T) {
	t.Parallel()
	const other = "1111111111111111111111111111111111111111"
	graphite := func(text string) func(f fork) {
		return func(f fork) {
			must.Do(f, os.WriteFile(filepath.Join(f.main, ".git", ".graphite_pr_info"), []byte(text), 0o600))
		}
	}
	configured := git.PullRequest{By: git.ByConfiguration, Number: 12}
	for name, tc := range map[string]struct {
		make func(f fork)
		want []git.PullRequest
	}{
		"none":                       {func(fork) {}, []git.PullRequest{}},
		"gh":                         {func(f fork) { f.git(f.main, "config", "branch.work.merge", "refs/pull/12/head") }, []git.PullRequest{configured}},
		"glab":                       {func(f fork) { f.git(f.main, "config", "branch.work.merge", "refs/merge-requests/12/head") }, []git.PullRequest{configured}},
		"an editor":                  {func(f fork) { f.git(f.main, "config", "branch.work.github-pr-owner-number", "acme#app#12") }, []git.PullRequest{configured}},
		"no number":                  {func(f fork) { f.git(f.main, "config", "branch.work.github-pr-owner-number", "acme#app#+12") }, []git.PullRequest{}},
		"of another branch":          {func(f fork) { f.git(f.main, "config", "branch.other.merge", "refs/pull/12/head") }, []git.PullRequest{}},
		"a branch that is called so": {func(f fork) { f.git(f.main, "config", "branch.work.merge", "refs/heads/pull/12") }, []git.PullRequest{}},
		"fetched":                    {func(f fork) { f.git(f.main, "update-ref", "refs/remotes/origin/pr/12", "work") }, []git.PullRequest{{By: git.ByRef, Number: 12}}},
		"fetched as the forge has it, and packed": {func(f fork) {
			f.git(f.main, "update-ref", "refs/pull/12/head", "work")
			f.git(f.main, "update-ref", "refs/pull/12/merge", "work")
			f.git(f.main, "pack-refs", "--all")
		}, []git.PullRequest{{By: git.ByRef, Number: 12}}},
		"fetched at another commit": {func(f fork) {
			f.git(f.main, "update-ref", "refs/remotes/origin/pr/12", "work")
			f.put(f.tree, "more", "more")
		}, []git.PullRequest{}},
		"graphite": {graphite(`{"prInfos": [
			{"prNumber": 12, "state": "MERGED", "headRefName": "work", "title": "t", "versions": [
				{"headSha": "` + other + `", "createdAt": "2026-01-02T00:00:00Z"}, {"headSha": "2222222222222222222222222222222222222222", "createdAt": "2026-01-01T00:00:00Z"}]},
			{"prNumber": 13, "state": "OPEN", "headRefName": "other"}]}`), []git.PullRequest{{By: git.ByGraphite, Number: 12, State: "merged", Head: other}}},
		"graphite with words of its own": {graphite(`{"prInfos": [{"prNumber": 12, "state": "QUEUED", "headRefName": "work", "versions": [{"headSha": "x"}]}, {"prNumber": -1, "state": "MERGED", "headRefName": "work"}]}`),
			[]git.PullRequest{{By: git.ByGraphite, Number: 12}}},
		"graphite without records": {graphite(`{}`), []git.PullRequest{}},
		"graphite, not to be read": {graphite(`{"prInfos": [`), nil},
		"said by another file":     {func(f fork) { f.git(f.main, "config", "include.path", "more") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFork(t)
			f.two()
			head := f.git(f.tree, "rev-parse", "HEAD")
			tc.make(f)
			w := f.follows()
			for i := range tc.want {
				if tc.want[i].By == git.ByRef {
					tc.want[i].Head = head
				}
			}
			if tc.want == nil {
				must.Equal(t, (*[]git.PullRequest)(nil), w.PullRequests, "records")
				return
			}
			must.Equal(t, &tc.want, w.PullRequests, "records")
		})
	}
}
