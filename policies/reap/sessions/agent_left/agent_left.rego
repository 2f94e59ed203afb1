# METADATA
# title: Session that an agent left
# description: A tmux session that an agent or its orchestrator began, and that has only idle shells and dead panes.
# custom:
#   needs: [tmux]
#   waits: [rules.grace.session, rules.session_idle, rules.confirm_after]
#   parameters: [rules.session_idle, rules.agents, rules.tool_sessions, collect.processes.markers]
package policies.reap.sessions.agent_left

import data.policies.lib.panes
import data.policies.lib.reasons
import data.policies.lib.sessions
import data.policies.lib.shells

# Something says of every pane that an agent or an orchestrator began it.
in_scope if sessions.made

findings contains {
	"message": $"an agent began it and is gone, and nothing has happened in it for {reasons.span(input.idle)}",
	"evidence": reasons.evidence({{"signs": sessions.signs}, panes.evidence}),
} if {
	in_scope
	panes.all_quiet
	input.idle >= input.config.session_idle
	shells.rested >= input.config.session_idle
}
