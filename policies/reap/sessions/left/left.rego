# METADATA
# title: Session that an agent left
# description: |-
#   A tmux session that an agent or its orchestrator began in worktrees, and of which nothing but idle shells is left.
#
#   In scope are sessions of which the first process of every pane works in a folder that agents work in: a linked worktree, or a
#   folder that a spawn or a registry names. Of every pane one thing has to speak for an agent:
#
#   - Its environment has a marker that names one agent's session or process, which the tmux server does not carry with that value, and no
#     agent lives that may have set it. A marker that is a flag (`CLAUDECODE`) does not count: editors set it where people type.
#   - It was started with a command that runs an agent (`pane_start_command`: `claude; exec zsh`). Only the agent's name is read.
#
#   That an agent was seen in it says nothing: people have agents work in sessions of their own. A session that a client was ever attached to
#   is a person's too, and [stays](attached.md).
#
#   Every pane must be positively idle, as for a [husk](husk.md), and nothing may have happened in the session for `session_idle`. The
#   name of the session does not matter.
# custom:
#   needs: [tmux, worktrees]
#   waits: [rules.grace.session, rules.session_idle, rules.confirm_after]
#   parameters:
#     rules.session_idle: "for how long nothing may have happened in the session"
#     rules.agents: "names of agents in the command that a pane was started with"
#     collect.processes.markers: "variables that agents set for what they start"
#   why: |-
#     Tools that run one agent a worktree open a tmux session for each and leave its shell behind when the agent ends, by the hundred; the
#     shell then keeps the worktree. A name proves nothing, and neither does the folder: people work in worktrees too. So something has to
#     say that an agent made the session, and a person who took it over shows by having attached to it.
#   example: |-
#     `fix-login`, made with `tmux new-session -d -c .claude/worktrees/fix-login 'claude; exec zsh'`, its `zsh` idle for an hour: reaped, and
#     after it the worktree, when that has landed. The same made with `tmux new-session -d -c .claude/worktrees/fix-login`, also
#     where `claude` was typed into it: out of scope.
package policies.reap.sessions.left

import data.policies.lib.panes
import data.policies.lib.words

# METADATA
# title: In scope
# description: Every pane of the session works in a folder of agents', and something says that an agent began it.
in_scope if {
	input.kind == "session"
	_in_worktrees
	_of_agents
}

# METADATA
# title: Its agent is gone
# description: Nothing runs in the session but the idle shells of the panes in which an agent was, and nothing has happened in it for a while.
findings contains {
	"rule": "reap.sessions.left",
	"message": $"an agent began it and is gone, and nothing has happened in it for {words.span(input.idle)}",
	"evidence": {"signs": _signs, "folders": _folders, "panes": panes.idle, "taken_along": panes.taken_along, "live_on": panes.live_on},
} if {
	in_scope
	panes.all_idle
	input.idle >= input.config.session_idle
}

# The shells are few, and asked first: most sessions have none there.
_in_worktrees if {
	count(_in_folders) > 0
	count(_in_folders) == count(panes.present)
}

_in_folders := [shell.pid | some shell in input.shells; shell.agent_dir != ""]

_of_agents if count(panes.present) == count({shell.pane | some shell in input.shells; shell.pane in _spoken_for})

_spoken_for contains shell.pane if {
	some shell in input.shells
	count(shell.markers) > 0
	shell.agents == 0
}

_spoken_for contains shell.pane if {
	some shell in input.shells
	shell.started_as != ""
}

_signs contains $"its environment has {marker}" if {
	some shell in input.shells
	some marker in shell.markers
}

_signs contains $"it was started with {shell.started_as}" if {
	some shell in input.shells
	shell.started_as != ""
}

_folders contains shell.agent_dir if some shell in input.shells
