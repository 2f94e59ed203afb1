# METADATA
# title: Worktree whose folder is gone
# description: A linked git worktree that its repository still lists, although its folder was removed by hand.
# custom:
#   needs: [worktrees]
#   waits: [rules.grace.dir]
#   parameters: [rules.landed_after]
package policies.reap.dirs.prunable

import data.policies.lib.dirs
import data.policies.lib.reasons

# The folder is gone, and it was a linked worktree.
in_scope if {
	input.dir.gone == true
	input.dir.git.worktree == true
}

findings contains {
	"message": $"its folder is gone; git still lists it{dirs.void_lock}",
	"evidence": reasons.evidence(((_facts | dirs.facts) | {git})),
} if {
	in_scope
	dirs.empty_entry
	dirs.unlocked
	input.idle >= input.config.landed_after
	git := {name: input.dir.git[name] | some name in {"head", "branch"}}
}

_facts contains {"entry": input.dir.git.admin_dir}
