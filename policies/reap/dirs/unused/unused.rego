# METADATA
# title: Worktree in which nothing was done
# description: A linked git worktree in which nothing was ever committed, that holds nothing, and is untouched for days.
# custom:
#   needs: [worktrees]
#   waits: [rules.grace.dir]
#   parameters: [rules.abandoned_after]
package policies.reap.dirs.unused

import data.policies.lib.dirs
import data.policies.lib.reasons

# The folder is a linked worktree.
in_scope if input.dir.git.worktree == true

findings contains {
	"message": $"nothing was ever done in it, and nobody has touched it for {reasons.span(input.idle)}{dirs.void_lock}",
	"evidence": reasons.evidence({git} | dirs.facts),
} if {
	dirs.holds_nothing
	dirs.own_branch
	input.dir.git.commits == 0
	_kept
	input.idle >= input.config.abandoned_after
	git := {name: input.dir.git[name] | some name in {"head", "branch", "commits", "landed", "elsewhere"}}
}

_kept if input.dir.git.landed == true
_kept if input.dir.git.elsewhere == true

# No commit of it is without a ref, and it has none of its own.
_kept if input.dir.git.detached == true
