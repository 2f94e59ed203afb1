# METADATA
# title: Content that can be made again
# description: |-
#   A folder in a linked worktree that stays, such as `node_modules` or `target`, that its tools can make again.
# custom:
#   needs: [worktrees, parts]
#   waits: [rules.trim_after]
#   parameters:
#     rules.rebuildable: "names of what can be made again"
#     rules.makers: "what shows that a tool made a folder whose name people use too"
#     rules.trim_after: "how long nothing may have happened in the worktree, while the machine was [awake](young.md)"
#     rules.trim_min: "what the folder must take up at least"
package policies.reap.content.rebuildable

import data.policies.lib.content
import data.policies.lib.reasons

# METADATA
# title: In scope
# description: The folder lies in a linked worktree and its name is one of what can be made again.
in_scope if {
	input.kind == "dir"
	input.dir.content.linked == true
	input.dir.content.pattern != ""
}

# METADATA
# title: It can be made again
# description: All that is in the folder can be made again, it is large, and nothing has happened in its worktree for a while.
findings contains {
	"rule": "reap.content.rebuildable",
	"message": $"all that is in it can be made again ({input.dir.content.pattern}), and nothing has happened in its worktree for {reasons.span(input.idle)}",
	"evidence": reasons.evidence(_facts),
} if {
	in_scope
	content.made_again
	content.large
}

_facts contains {"worktree": input.dir.content.worktree}

_facts contains {"pattern": input.dir.content.pattern}

_facts contains {"bytes": input.dir.content.bytes}

_facts contains {"idle": input.idle}
