# METADATA
# title: Scope of sessions
# description: Which sessions are anybody's business but their user's.
package policies.lib.sessions

# METADATA
# title: Recorded
# description: True when a registry entry names this session.
recorded if {
	some entry in input.entries
	entry.by == "session"
}

# METADATA
# title: Named
# description: True when the session's name is one that the operator has put in scope. An empty word puts nothing in scope.
named if {
	some exact in input.config.session_names.exact
	exact != ""
	input.session.name == exact
}

named if {
	some prefix in input.config.session_names.prefix
	prefix != ""
	startswith(input.session.name, prefix)
}
