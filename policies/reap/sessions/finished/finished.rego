# METADATA
# title: Session of a finished owner
# description: A tmux session whose owner a registry says has ended.
# custom:
#   needs: [tmux, recorded_sessions]
#   waits: [rules.grace.session, rules.confirm_after]
#   parameters: [rules.terminal_statuses]
package policies.reap.sessions.finished

import data.policies.lib.panes
import data.policies.lib.reasons
import data.policies.lib.registry
import data.policies.lib.sessions

# A registry entry names the session.
in_scope if sessions.recorded

findings contains {
	"message": "the registry says that its owner has ended",
	"evidence": reasons.evidence({{"source": entry.source, "entry": entry.id, "ended": entry.ended}, panes.fates}),
} if {
	some place in (registry.of_session & registry.over)
	entry := input.entries[place]
	entry.ended >= 0
	input.made >= entry.ended
}
