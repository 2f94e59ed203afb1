package snapshot

import (
	"fmt"
	"slices"
)

// The states of a pull request.
const (
	PullOpen   = "open"
	PullMerged = "merged"
	PullClosed = "closed"
)

// Signs are, in words, what is recorded of a worktree's branch besides its commits: that the remote branch is gone, and what anybody has on
// record of its pull request. entries are the registries' of which the folder is the owner's own. They suggest that the work has landed, or that it
// has not; they are never a proof.
func (g *Git) Signs(entries []PullRequest) []string {
	signs := []string{}
	if g.FollowedGone != nil && *g.FollowedGone {
		signs = append(signs, "the remote branch is gone")
	}
	for _, p := range g.pulls(entries) {
		if s := p.sign(g.Head); !slices.Contains(signs, s) {
			signs = append(signs, s)
		}
	}
	return signs
}

// pulls are the records of the repository and of registries. One that only numbers a pull request adds nothing to one that says more of it.
func (g *Git) pulls(entries []PullRequest) []PullRequest {
	var all []PullRequest
	if g.PullRequests != nil {
		all = append(all, *g.PullRequests...)
	}
	all = append(all, entries...)
	stated := func(p PullRequest) bool { return p.State != "" }
	return slices.DeleteFunc(all, func(p PullRequest) bool {
		return p.State == "" && (p.Number == nil || slices.ContainsFunc(all, func(o PullRequest) bool { return stated(o) && o.Number != nil && *o.Number == *p.Number }))
	})
}

// sign is the record in words. head is the worktree's commit.
func (p PullRequest) sign(head string) string {
	name := "a pull request"
	if p.Number != nil {
		name = fmt.Sprintf("pull request %d", *p.Number)
	}
	switch {
	case p.State == "":
		return "its branch is that of " + name
	case p.Head != "" && head != "" && p.Head != head:
		return fmt.Sprintf("%s records %s as %s, for another commit (%.10s)", p.By, name, p.State, p.Head)
	}
	return fmt.Sprintf("%s records %s as %s", p.By, name, p.State)
}

// MayHaveLanded says whether any of that suggests that the work has landed: the remote branch is gone, or a pull request is on record as merged.
func (g *Git) MayHaveLanded(entries []PullRequest) bool {
	return g.FollowedGone != nil && *g.FollowedGone || slices.ContainsFunc(g.pulls(entries), func(p PullRequest) bool { return p.State == PullMerged })
}
