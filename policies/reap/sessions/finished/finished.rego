# METADATA
# title: Session of a finished owner
# description: |-
#   A tmux session whose owner a registry says has ended.
#
#   In scope are sessions that a registry entry names. The entry must be positively over: its own format says so (`terminal: true`),
#   or it says nothing of itself and its status is a terminal word. Its end must be known and fall into this session's life.
# custom:
#   needs: [tmux, recorded_sessions]
#   waits: [rules.grace.session, rules.confirm_after]
#   parameters:
#     rules.terminal_statuses: "the words that say an owner has ended; any other status, or a missing one, means that it has not ended"
#   why: |-
#     "Not in my registry" means somebody else's, a row that is being restored has no terminal status, and names come back: an entry
#     that ended before this session was made speaks of an earlier session of the same name. An entry without `ended_at` gives no
#     finding here; an idle session is then still a [husk](husk.md).
#   example: |-
#     `build` was made at noon, its entry has `"status": "completed", "ended_at": "16:00"`: reaped, once nothing runs in its panes and
#     a second look has found the same. With `"ended_at"` of yesterday: no finding.
#
#     Whatever the registry says, [protect.live](live.md) keeps a session in which something runs.
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
# title: Its owner has ended
# description: The registry entry of this session, and of no other, has positively ended, after the session was made.
findings contains {
	"rule": "reap.sessions.finished",
	"message": "the registry says that its owner has ended",
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
