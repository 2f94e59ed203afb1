# METADATA
# title: Landed worktree
# description: |-
#   A linked git worktree whose work is all on the default branch.
#
#   In scope is every linked worktree. Its work has landed when the repository has an entry for it, at least one commit was made in it,
#   no commit is reached from it alone, and it holds no changed, untracked or ignored file but what can be made again and what tools
#   wrote for themselves ([protect.unsaved](unsaved.md)). A branch that was brought here with commits of its own, as somebody's pull request is,
#   counts like one on which they were made here. One of these must hold, which the message names:
#
#   - **ancestry**: the default branch reaches HEAD (a merge, a fast-forward, a push);
#   - **patches**: for each commit of the branch the default branch has one that makes the same change in the same place (a rebase, a
#     cherry-pick);
#   - **squash**: one commit of the default branch makes the same change in the same place as all commits of the branch together;
#   - **tree**: a merge of the branch would change nothing on the default branch.
#
#   The first three are about history: they hold when a later commit changed the same lines, or took the work out again, since the
#   work can be found there. Changes are compared to the last blank, modes and binary files too. The same lines elsewhere in a
#   repetitive file are another change: the files must have been the same before and after, or a merge of the one change into the other
#   must change nothing. No proof is looked for where the
#   branch changes nothing, in a history that was cut off (a shallow clone), or with several merge bases. The branch stays in any case.
#
#   The default branch is the remote's, as far as it was fetched. In a repository without any remote it is the branch of
#   the main checkout if that is main, master or trunk, or else the only one of these that exists. A worktree in which the default
#   branch itself is checked out has not landed.
#
#   That the remote branch is gone, and what is on record of a pull request, are evidence beside a proof (`signs`), and no proof: a branch may be
#   deleted unmerged, and work may be added after a merge. Where no proof holds the main reason names them. What is read, without a network: the
#   branch's configuration and the remote-tracking refs; pull requests that were fetched, that gh, glab, Visual Studio Code or GitLens wrote into the
#   configuration, or that Graphite keeps; and the records of Shepherd and Codev.
#
#   Nothing may have happened in it for `landed_after`, and where nothing was committed in it for `abandoned_after`.
# custom:
#   needs: [worktrees, upstream]
#   waits: [rules.grace.dir]
#   parameters:
#     rules.landed_after: "how long nothing may have happened in it while the machine was [awake](young.md)"
#     rules.abandoned_after: "the same for one in which nothing was committed"
#   why: |-
#     `git branch --merged` lists a branch that has no commit of its own yet, and a reaper judged such branches merged: work that had
#     only just started was deleted (marcusquinn/aidevops#22606). So at least one commit made *here* is asked for.
#
#     Most pull requests are squashed or rebased on their way in, so that the default branch never reaches their commits. `git cherry`
#     sees the rebased ones alone, and leaves blanks out, which may be all that was changed.
#   example: |-
#     ```
#     dir:/w/feature   reap   reap.dirs.landed: all its work is on origin/main, and nothing has happened in it for a while
#     dir:/w/fix       reap   reap.dirs.landed: its work was squashed into origin/main as 1a2b3c4d5e, and nothing has ...
#     ```
#
#     With `"commits": 0`: no finding; after a few days [reap.dirs.untouched](untouched.md).
#
#     With one more commit since it was squashed: it stays.
#
#     Without a proof it stays, and the report says what is on record:
#
#     ```
#     dir:/w/other   spare   2 commits that are not on origin/main; the remote branch is gone and Shepherd records pull request 12 as
#                            merged: `winnow sweep --fetch` may show that they have landed
#     ```
package policies.reap.dirs.landed

import data.policies.lib.dirs
import data.policies.lib.words

# METADATA
# title: In scope
# description: The folder is a linked worktree.
in_scope if {
	input.kind == "dir"
	input.dir.git.worktree == true
}

# METADATA
# title: Its work has landed
# description: Everything that was done in the worktree is on the default branch.
findings contains {
	"rule": "reap.dirs.landed",
	"message": $"{how}, and nothing has happened in it for {words.span(input.idle)}{dirs.void_lock}",
	"evidence": words.known(_facts),
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
	some how in _proofs
}

_quiet if {
	input.dir.git.commits >= 1
	input.idle >= input.config.landed_after
}

# Nothing was committed here, and yet the branch has commits of its own: it was brought here, as somebody's pull request is. Somebody
# may only look at it.
_quiet if {
	input.dir.git.commits == 0
	input.dir.git.landed == false
	input.dir.git.ahead >= 1
	input.idle >= input.config.abandoned_after
}

_proofs contains $"all its work is on {words.branch(input.dir.git.upstream)}" if {
	input.dir.git.upstream != ""
	input.dir.git.landed == true
}

_proofs contains $"each of its commits is on {_into} too, as {_brief(_landing.commits)}" if {
	_landing.by == "patches"
	count(_landing.commits) > 0
}

_proofs contains $"its work was squashed into {_into} as {_brief(_landing.commits)}" if {
	_landing.by == "squash"
	count(_landing.commits) > 0
}

_proofs contains $"a merge of it would change nothing on {_into}" if _landing.by == "tree"

# The proof, as long as it is about the branch that counts.
_landing := input.dir.git.landing if {
	input.dir.git.landing.into != ""
	input.dir.git.landing.into == input.dir.git.upstream
}

_into := words.branch(_landing.into)

# The first and the last one of some commits, as a person reads them.
_brief(commits) := words.commit(commits[0]) if count(commits) == 1

_brief(commits) := $"{words.commit(commits[0])} to {words.commit(commits[count(commits) - 1])}" if count(commits) > 1

_facts contains {"upstream": input.dir.git.upstream}

_facts contains {"head": input.dir.git.head}

_facts contains {"commits": input.dir.git.commits}

_facts contains {"landing": input.dir.git.landing}

_facts contains {"fetched_at": input.dir.git.fetched_at}

_facts contains {"idle": input.idle}

_facts contains {"scaffold": input.dir.git.scaffold}

_facts contains {"lock": dirs.lock} if dirs.lock != ""

_facts contains {"signs": input.signs} if count(input.signs) > 0
