# METADATA
# title: Terminal of a builder that is gone
# description: >-
#   A Codev terminal of a builder, or of its development server, that is still there although the builder was cleaned up. Its row is gone
#   and so is its worktree; an empty list of builders by itself proves nothing.
package policies.reap.terminals.ownerless

import data.policies.lib.terminals

# METADATA
# title: In scope
# description: The terminal is a builder's or its development server's.
in_scope if terminals.of_builder

# METADATA
# title: Its builder is gone
# description: It is known whose the terminal is, that one is on record no more, and its worktree is gone or deregistered.
findings contains {
	"rule": "reap.terminals.ownerless",
	"message": $"its builder {input.terminal.owner.id} is on record no more, and the worktree of that one is {terminals.worktree_left}",
	"evidence": {
		"builder": input.terminal.owner.id,
		"how": input.terminal.owner.how,
		"worktree": [worktree | worktree := input.terminal.owner.worktree],
		"gone": [gone | gone := input.terminal.owner.gone],
		"unregistered": [unregistered | unregistered := input.terminal.owner.unregistered],
		"owner_seen": [seen | seen := input.owner_seen],
	},
} if terminals.ownerless
