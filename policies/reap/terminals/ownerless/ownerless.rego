# METADATA
# title: Terminal of a builder that is gone
# description: A Codev terminal of a builder, or of its development server, whose builder was cleaned up.
# custom:
#   needs: [codev]
#   waits: [rules.grace.terminal, rules.confirm_after]
package policies.reap.terminals.ownerless

import data.policies.lib.reasons
import data.policies.lib.terminals

# The terminal is a builder's or its development server's.
in_scope if terminals.of_builder

findings contains {
	"message": $"its builder {builder} is no longer on record, and its worktree is {terminals.worktree_left}",
	"evidence": reasons.evidence(_facts),
} if {
	terminals.ownerless
	builder := input.terminal.owner.id
}

_facts contains {"builder": input.terminal.owner.id}
_facts contains {name: input.terminal.owner[name] | some name in {"how", "worktree"}}
_facts contains {"owner_seen": input.owner_seen}
