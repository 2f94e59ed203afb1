# METADATA
# title: Landed worktree
# description: A linked git worktree whose work is all on the default branch.
# custom:
#   needs: [worktrees, upstream]
#   waits: [rules.grace.dir]
#   parameters: [rules.landed_after, rules.abandoned_after, rules.landing_branches]
package policies.reap.dirs.landed

import data.policies.lib.dirs
import data.policies.lib.reasons

# The folder is a linked worktree.
in_scope if input.dir.git.worktree == true

findings contains {
	"message": $"{how}, and nothing has happened in it for {reasons.span(input.idle)}{dirs.void_lock}",
	"evidence": reasons.evidence(((dirs.facts | dirs.locks) | {git})),
} if {
	in_scope
	dirs.own_branch
	input.dir.git.registered == true
	input.dir.git.head != ""
	_quiet
	input.dir.git.unreachable_commits == 0
	input.dir.git.dirty == 0
	input.dir.git.untracked == 0
	input.dir.git.ignored == 0
	git := {name: input.dir.git[name] | some name in {"upstream", "head", "commits", "landing", "fetched_at", "scaffold"}}
	some how in _proofs
}

_quiet if {
	input.dir.git.commits >= 1
	input.idle >= input.config.landed_after
}

# Nothing was committed here, and yet the branch has commits of its own: somebody may only look at it.
_quiet if {
	input.dir.git.commits == 0
	input.dir.git.landed == false
	input.dir.git.ahead >= 1
	input.idle >= input.config.abandoned_after
}

_proofs contains $"all its work is on {reasons.branch(input.dir.git.upstream)}" if {
	input.dir.git.upstream != ""
	input.dir.git.landed == true
}

_proofs contains $"all its work is on {_into}" if _landing.by == "ancestry"

_proofs contains $"each of its commits is on {_into} too, as {_brief(_landing.commits)}" if {
	_landing.by == "patches"
	count(_landing.commits) > 0
}

_proofs contains $"its work was squashed into {_into} as {_brief(_landing.commits)}" if {
	_landing.by == "squash"
	count(_landing.commits) > 0
}

_proofs contains $"a merge of it would change nothing on {_into}" if _landing.by == "tree"

_proofs contains $"its pull request {request.number} was merged at this very commit" if {
	some request in input.dir.git.pull_requests
	request.by == "forge"
	request.state == "merged"
	request.head == input.dir.git.head
}

# The proof, as long as it is about a branch that counts.
_landing := input.dir.git.landing if {
	input.dir.git.landing.into != ""
	input.dir.git.landing.into in _counting
}

_counting contains input.dir.git.upstream
_counting contains base if some base in input.dir.git.bases
_into := reasons.branch(_landing.into)

# The first and the last one of some commits, as a person reads them.
_brief(commits) := concat(" to ", [reasons.commit(oid) | some i, oid in commits; i in [0, count(commits) - 1]])
