# METADATA
# title: Session of a finished owner
# description: >-
#   A tmux session that a registry names, and whose owner that registry says is over. The record must have ended in this
#   session's lifetime: one that ended before the session was made speaks of an earlier session of that name.
package policies.reap.sessions.finished

import data.policies.lib.panes
import data.policies.lib.registry
import data.policies.lib.sessions

# METADATA
# title: In scope
# description: A registry entry names the session.
in_scope if {
	input.kind == "session"
	sessions.recorded
}

# METADATA
# title: Its owner is over
# description: The registry entry of this session, and of no other, is positively over, and ended after the session was made.
findings contains {
	"rule": "reap.sessions.finished",
	"message": "the registry says that its owner is over",
	"evidence": {
		"source": entry.source,
		"entry": entry.id,
		"ended": entry.ended,
		"taken_along": panes.taken_along,
		"live_on": panes.live_on,
	},
} if {
	input.kind == "session"
	some place in registry.over
	place in registry.of_session
	entry := input.entries[place]
	entry.ended >= 0
	input.made >= entry.ended
}
