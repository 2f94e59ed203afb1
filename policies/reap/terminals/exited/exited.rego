# METADATA
# title: Terminal that has exited
# description: A Codev terminal of a builder, or of its server, that has exited and that the Tower keeps all the same.
# custom:
#   needs: [codev]
#   waits: [rules.grace.terminal, rules.confirm_after]
#   parameters: [rules.terminal_idle]
package policies.reap.terminals.exited

import data.policies.lib.reasons
import data.policies.lib.terminals

# The terminal is a builder's or its development server's.
in_scope if terminals.of_builder

findings contains {
	"message": $"it has exited, nothing lives in it, and it has printed nothing for {reasons.span(input.idle)}",
	"evidence": reasons.evidence(_facts),
} if {
	in_scope
	input.terminal.listed == true
	terminals.exited
	terminals.quiet
}

_facts contains {"idle": input.idle}
_facts contains {"exit_code": input.terminal.exit_code}
