# METADATA
# title: Seen once
# description: >-
#   Keeps what a person may be looking at until the same reason was found at an earlier look, long enough ago, on the same
#   thing. One look can be wrong: a shell between two commands is idle.
package policies.protect.seen_once

import data.policies.lib.kinds

# METADATA
# title: The reason was not found at an earlier look yet
# description: There is no earlier sighting of this thing with this reason, or it is too short a while ago.
objections contains {
	"rule": "protect.seen_once",
	"message": "it takes a second look, some time after the first, to be sure",
	"evidence": {k: v | some k, v in {"first": input.sighting.first, "confirm_after": input.config.confirm_after}},
} if {
	_interactive
	count(_found) > 0
	not _confirmed
}

_interactive if input.kind == "session"

_interactive if input.kind == "tab"

_interactive if input.kind == "terminal"

_confirmed if {
	input.sighting.identity != ""
	input.sighting.identity == input.identity
	input.sighting.first >= input.config.confirm_after
	input.sighting.rule in _found
}

# Without a reason to reap there is nothing to wait for.
_found contains finding.rule if some finding in data.policies.reap[kinds.plural][_].findings
