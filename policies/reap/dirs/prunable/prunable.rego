# METADATA
# title: Half a worktree
# description: An entry whose folder was removed by hand, or a folder without an entry whose files have all landed.
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

in_scope if input.dir.git.lost == true

findings contains {
	"message": half,
	"evidence": reasons.evidence(((_facts | dirs.facts) | {git})),
} if {
	input.idle >= input.config.landed_after
	git := {name: input.dir.git[name] | some name in {"head", "branch"}}
	some half in _halves
}

_halves contains $"its folder is gone; git still lists it{dirs.void_lock}" if {
	dirs.empty_entry
	dirs.unlocked
}

# A folder for worktrees, and the name that the entry had: a copy that a person made elsewhere is theirs.
_halves contains $"git does not list it any more, and its files are on {branch}, as they are or as they were" if {
	input.dir.git.lost == true
	contains(input.dir.path, "worktrees/")
	endswith(input.dir.git.admin_dir, concat("/", ["", input.dir.name]))
	input.dir.git.untracked == 0
	branch := reasons.branch(input.dir.git.upstream)
	count(input.dir.git.nested) == 0
}

_facts contains {"entry": input.dir.git.admin_dir}
