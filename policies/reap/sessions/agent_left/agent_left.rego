# METADATA
# title: Session that an agent left
# description: A tmux session that an agent or its orchestrator began in worktrees, and that has only idle shells left.
# custom:
#   needs: [tmux, worktrees]
#   waits: [rules.grace.session, rules.session_idle, rules.confirm_after]
#   parameters: [rules.session_idle, rules.agents, collect.processes.markers]
package policies.reap.sessions.agent_left

import data.policies.lib.panes
import data.policies.lib.reasons
import data.policies.lib.shells

# Every pane of the session works in a folder of agents', and something says that an agent began it. The shells are few,
# and asked first: most sessions have none there.
in_scope if {
	count(_in_folders) > 0
	count(_in_folders) == count(panes.present)
	count(_spoken_for) == count(panes.present)
}

findings contains {
	"message": $"an agent began it and is gone, and nothing has happened in it for {reasons.span(input.idle)}",
	"evidence": reasons.evidence({{"signs": _signs, "folders": _folders}, panes.evidence}),
} if {
	in_scope
	panes.all_idle
	input.idle >= input.config.session_idle
	shells.rested >= input.config.session_idle
}

_in_folders := [shell.pid | some shell in input.shells; shell.agent_dir != ""]

_spoken_for contains shell.pane if {
	some shell in input.shells
	count(shell.markers) > 0
	shell.agents == 0
}

_spoken_for contains shell.pane if some shell in _started

_started contains shell if {
	some shell in input.shells
	shell.started_as != ""
}

_signs contains $"its environment has {marker}" if {
	some shell in input.shells
	some marker in shell.markers
}

_signs contains $"it was started with {shell.started_as}" if some shell in _started

_folders contains shell.agent_dir if some shell in input.shells
