# METADATA
# title: Worktree in which nothing was done
# description: |-
#   A linked git worktree in which nothing was ever committed, that holds nothing, and that has been untouched for days.
# custom:
#   needs: [worktrees]
#   waits: [rules.grace.dir]
#   parameters:
#     rules.abandoned_after: "how long it must have been untouched while the machine was [awake](young.md)"
package policies.reap.dirs.unused

import data.policies.lib.dirs
import data.policies.lib.reasons

# METADATA
# title: In scope
# description: The folder is a linked worktree.
in_scope if {
	input.kind == "dir"
	input.dir.git.worktree == true
}

# METADATA
# title: Nothing was done in it
# description: Nothing was committed in the worktree, it holds nothing, and it has been untouched for a long time.
findings contains {
	"rule": "reap.dirs.unused",
	"message": $"nothing was ever done in it, and nobody has touched it for {reasons.span(input.idle)}{dirs.void_lock}",
	"evidence": reasons.evidence(_facts),
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
