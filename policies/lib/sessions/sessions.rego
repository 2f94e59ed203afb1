# METADATA
# title: Sessions
# description: Which sessions are in scope, and what is positively known of them besides their panes.
package policies.lib.sessions

import data.policies.lib.names
import data.policies.lib.registry

# True when a registry entry means this session: no other has its name, and it is no younger than the owner's end.
recorded if count(registry.of_session & registry.endless) > 0

recorded if {
	some place in registry.of_session
	input.made >= input.entries[place].ended
}

# True when no client was ever attached (a person may have typed), the operator named it, or a person asks for it.
unclaimed if input.session.ever_attached == false
unclaimed if named

unclaimed if {
	some place in (registry.of_session & registry.over)
	entry := input.entries[place]
	input.made <= entry.started + input.config.grace.session
	input.used > entry.ended + 1 # tmux counts in whole seconds
}

# A person asks for this very session by name, and its owner has ended.
unclaimed if {
	input.asked.by == "user"
	count(registry.of_session & registry.over) > 0
}

# What says of a pane that an agent or an orchestrator began it. A name says so where no client was ever attached.
signs contains {"pane": shell.pane, "sign": $"its environment has {marker}"} if {
	some shell in input.shells
	some marker in shell.markers
	shell.agents == 0
}

signs contains {"pane": pane.id, "sign": $"it was started with {pane.started_as}"} if {
	some pane in input.session.panes
	pane.started_as != ""
}

signs contains {"pane": pane.id, "sign": $"an orchestrator names sessions so: {input.session.name}"} if {
	names.listed(input.session.name, "tool_sessions")
	input.session.ever_attached == false
	some pane in input.session.panes
}

signs contains {"pane": pane.id, "sign": "the worktree that it works in was deleted"} if {
	_unseen
	some pane in input.session.panes
	pane.cwd_deleted == true
	contains(pane.cwd, "worktrees/")
}

signs contains {"pane": pane.id, "sign": $"its session began with {_first.started_as}"} if {
	_unseen
	_first.started_as != ""
	some pane in input.session.panes
	contains(pane.cwd, "worktrees/")
}

# The oldest pane: tmux numbers them. A session of a group may have been shown by another one of it.
_first := [pane | some pane in input.session.panes; [count(pane.id), pane.id] == min(_ids)][0]
_ids contains [count(pane.id), pane.id] if some pane in input.session.panes
_unseen if [input.session.ever_attached, input.session.group] == [false, ""]

# True when something says of every pane that an agent or an orchestrator began it. What records call it is known.
made if {
	count(signs) > 0
	input.session.name != ""
	count([pane.id | some pane in input.session.panes; pane.cwd != ""]) == count(input.session.panes)
	count({sign.pane | some sign in signs}) == count(input.session.panes)
}

# Nothing that its server runs outside of its panes belongs to it, or may. Undefined while that is not known.
no_popups if count(input.session.popups) == 0

# True when nothing about the session failed to be read.
read if input.session.error == ""

# True when the session's name is one that the operator has put in scope. An empty word puts nothing in scope.
named if names.listed(input.session.name, "session_names")
