package dirs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/forge"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// landings asks how work got into the default branch that the branch's head did not: by a squash, a rebase, or otherwise. It is the
// dearest question, and comes last: it is about those worktrees alone that nothing else keeps.
func (l *look) landings(ctx context.Context, end time.Time, members []*candidate) {
	var asked []*candidate
	var worktrees []*git.Worktree
	for _, c := range members {
		if l.asksLanding(c) {
			asked = append(asked, c)
			worktrees = append(worktrees, c.worktree)
		}
	}
	if len(asked) == 0 {
		return
	}
	own, cancel := context.WithDeadlineCause(ctx, end, errTimeout)
	defer cancel()
	leave, err := l.o.Cache.limiter.enter(own)
	if err == nil {
		err = asked[0].repo.ProveMerged(own, git.Program{Path: l.o.Git}, worktrees)
		leave()
		l.gitFails(ctx, err)
	}
	for _, c := range asked {
		w, g := c.worktree, c.dir.Git
		g.Elsewhere = w.Elsewhere
		if w.Landing != nil {
			g.Landing = &snapshot.Landing{By: w.Landing.By, Into: w.Landing.Into, Commits: append([]string{}, w.Landing.Commits...), Since: w.Landing.Since}
		} else if err != nil { // what failed is no error of the folder: all else about it is known
			g.LandingError = err.Error()
		}
	}
	if l.o.Forge.Program != "" {
		l.requests(own, asked)
	}
}

// maxRequests is of how many branches of one repository the forge is asked in one look.
const maxRequests = 50

// requests asks the forge for the pull requests of branches whose work git does not show to have landed, one after the other. What it does
// not answer stays unknown, with the reason.
func (l *look) requests(ctx context.Context, asked []*candidate) {
	remote, err := gitsafe.Remote{}, error(nil)
	if upstream := asked[0].repo.Upstream; strings.HasPrefix(upstream, "refs/remotes/") {
		remote, err = gitsafe.ReadRemote(ctx, asked[0].place.CommonDir, upstream)
	}
	left := maxRequests
	for _, c := range asked {
		g := c.dir.Git
		branch, ok := strings.CutPrefix(g.Branch, "refs/heads/")
		if !ok || g.PullRequests == nil || g.Landing != nil && g.Landing.By != "" {
			continue
		}
		if left--; left < 0 && err == nil {
			err = fmt.Errorf("more than %d branches of one repository are not asked about in one look", maxRequests)
		}
		var found []forge.Request
		if err == nil {
			found, err = l.o.Forge.Requests(ctx, remote.Address, branch)
		}
		if err != nil {
			g.ForgeError = err.Error()
			continue
		}
		all := slices.Clone(*g.PullRequests)
		for _, r := range found {
			all = append(all, snapshot.PullRequest{By: "forge", Number: new(int64(r.Number)), State: r.State, Head: r.Head})
		}
		g.PullRequests, g.ForgeAsked = &all, new(true)
	}
}

// asksLanding says whether the answer may matter: the worktree holds nothing but commits that the default branch does not reach, or
// nothing at all.
func (l *look) asksLanding(c *candidate) bool {
	g := c.dir.Git
	if g == nil || c.worktree == nil || c.gone != nil || !c.place.Linked || g.Commits == nil || g.Landed != nil && *g.Landed {
		return false
	}
	return l.o.Full || c.dir.Skipped == "" && isZero(g.Dirty) && isZero(g.Untracked) && isZero(g.Ignored) && isZero(g.Unreachable) &&
		g.Operation != nil && *g.Operation == "" && g.Registered != nil && *g.Registered
}

func isZero(n *int) bool { return n != nil && *n == 0 }
