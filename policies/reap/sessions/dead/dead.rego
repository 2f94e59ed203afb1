# METADATA
# title: Session of dead panes
# description: A tmux session that is kept (remain-on-exit) although all that ran in it has ended.
# custom:
#   needs: [tmux]
#   waits: [rules.grace.session, rules.session_idle, rules.landed_after, rules.confirm_after]
#   parameters: [rules.session_idle, rules.landed_after, rules.agents, rules.tool_sessions]
package policies.reap.sessions.dead

import data.policies.lib.panes
import data.policies.lib.reasons
import data.policies.lib.sessions

# Every pane of the session is dead.
in_scope if {
	count(panes.dead) > 0
	count(panes.dead) == count(panes.present)
}

findings contains {
	"message": $"all that ran in it has ended, and nothing has happened in it for {reasons.span(input.idle)}",
	"evidence": {"panes": panes.dead, "signs": sessions.signs},
} if {
	in_scope
	_read_by_now
	input.idle >= input.config.session_idle
}

# A person may want to read what stands in a pane. What an agent or an orchestrator began waits only for session_idle.
_read_by_now if sessions.made
_read_by_now if input.idle >= input.config.landed_after
