# METADATA
# title: Sessions
# description: Which sessions are in scope, and what is positively known of them besides their panes.
package policies.lib.sessions

import data.policies.lib.names
import data.policies.lib.registry

# True when a registry entry means this session: it names it, and no other session bears that name, and the session
# was not made after the entry's owner had ended. An entry that says nothing of an end may mean it.
recorded if count(registry.of_session & registry.endless) > 0

recorded if {
	some place in registry.of_session
	input.made >= input.entries[place].ended
}

# True when no client was ever attached to the session, or its name is one that the operator has put in scope, or a
# registry entry means it whose owner began it and has ended, and no client was attached to it or used since, or a
# person asks for it. A client that was attached is a person, who may have typed into it.
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
