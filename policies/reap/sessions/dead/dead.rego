# METADATA
# title: Session of dead panes
# description: A tmux session that an agent or its orchestrator began, kept (remain-on-exit) after all in it has ended.
# custom:
#   needs: [tmux]
#   waits: [rules.grace.session, rules.session_idle, rules.confirm_after]
#   parameters: [rules.session_idle, rules.agents, rules.tool_sessions]
package policies.reap.sessions.dead

import data.policies.lib.panes
import data.policies.lib.reasons
import data.policies.lib.sessions

# Every pane of the session is dead, and an agent or an orchestrator began each.
in_scope if {
	sessions.made
	count(panes.dead) > 0
	count(panes.dead) == count(panes.present)
}

findings contains {
	"message": $"all that ran in it has ended, and nothing has happened in it for {reasons.span(input.idle)}",
	"evidence": {"panes": panes.dead, "signs": sessions.signs},
} if {
	in_scope
	input.idle >= input.config.session_idle
}
