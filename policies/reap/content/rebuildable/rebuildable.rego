# METADATA
# title: Content that can be made again
# description: A folder in a linked worktree that stays, such as `node_modules` or `target`, that tools can make again.
# custom:
#   needs: [worktrees, parts]
#   waits: [rules.trim_after]
#   parameters: [rules.rebuildable, rules.makers, rules.trim_after, rules.trim_min]
package policies.reap.content.rebuildable

import data.policies.lib.dirs
import data.policies.lib.reasons

# The folder lies in a linked worktree and its name is one of what can be made again.
in_scope if {
	input.dir.content.linked == true
	input.dir.content.pattern != ""
}

findings contains {
	"message": $"all that is in it can be made again ({pattern}), and nothing has happened in its worktree for {idle}",
	"evidence": {"worktree": worktree, "pattern": pattern, "bytes": input.dir.content.bytes, "idle": input.idle},
} if {
	in_scope
	dirs.made_again
	dirs.large
	worktree := input.dir.content.worktree
	pattern := input.dir.content.pattern
	idle := reasons.span(input.idle)
}
