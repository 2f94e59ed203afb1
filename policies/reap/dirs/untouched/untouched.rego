# METADATA
# title: Worktree in which nothing was done
# description: |-
#   A linked git worktree in which nothing was ever committed, that holds nothing, and that nobody has touched for days.
#
#   In scope is every linked worktree. It goes when the reflogs of its HEAD and of its branch show no commit, when it holds nothing: no
#   changed, untracked or ignored file (but for what can be rebuilt), no commit that only it reaches, no operation under way, no
#   other repository in it. Its HEAD is on the default branch, or on a branch, tag or remote branch that no worktree has
#   checked out, or it is detached. The default branch itself is not checked out in it. Its branch stays.
#
#   Nobody may have touched it for `abandoned_after`: no file at its top, no git command that writes the index or HEAD.
# custom:
#   needs: [worktrees]
#   waits: [rules.grace.dir]
#   parameters:
#     rules.abandoned_after: "how long nobody may have touched it while the machine was [awake](young.md)"
#   why: |-
#     An agent that is started and ended at once, and a review that was read and left, each leave a worktree that never lands,
#     since nothing was done in it. That it has no commit is no sign that it has landed: work may have only just started
#     (marcusquinn/aidevops#22606). So it is a finding of its own, with a longer wait.
#   example: |-
#     ```
#     dir:/w/spike   reap   reap.dirs.untouched: nothing was ever done in it, and nobody has touched it for 3d2h
#     ```
#
#     With one new file in it: [protect.unsaved](unsaved.md). With a live process in it: [protect.live](live.md).
package policies.reap.dirs.untouched

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
# title: Nothing was done in it
# description: Nothing was committed in the worktree, it holds nothing, and nobody has touched it for a long time.
findings contains {
	"rule": "reap.dirs.untouched",
	"message": $"nothing was ever done in it, and nobody has touched it for {words.span(input.idle)}{dirs.void_lock}",
	"evidence": words.known(_facts),
} if {
	dirs.holds_nothing
	dirs.own_branch
	input.dir.git.commits == 0
	_kept
	input.idle >= input.config.abandoned_after
}

_kept if input.dir.git.landed == true

_kept if input.dir.git.elsewhere == true

# No commit of it is without a ref, and it has none of its own.
_kept if input.dir.git.detached == true

_facts contains {"head": input.dir.git.head}

_facts contains {"branch": input.dir.git.branch}

_facts contains {"commits": input.dir.git.commits}

_facts contains {"landed": input.dir.git.landed}

_facts contains {"elsewhere": input.dir.git.elsewhere}

_facts contains {"idle": input.idle}

_facts contains {"signs": input.signs} if count(input.signs) > 0
