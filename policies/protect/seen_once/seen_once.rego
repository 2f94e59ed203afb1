# METADATA
# title: Seen once
# description: >-
#   Keeps what a person may be looking at, and a process, until the same reason was found at an earlier look, long enough ago, on
#   the same thing. One look can be wrong: a shell between two commands is idle, and the build of an agent that was started anew is
#   nobody's child. What is ended cannot be brought back, so a process that works is waited for longer.
package policies.protect.seen_once

import data.policies.lib.kinds
import data.policies.lib.words

# METADATA
# title: The reason was not found at an earlier look yet
# description: >-
#   There is no earlier sighting of this thing with this reason, or it is too short a while ago. A process must also have done nothing
#   in between, or have been found for so much longer.
objections contains {
	"rule": "protect.seen_once",
	"message": words.said(_reasons, $"it takes a second look, {words.span(_asked)} after the first"),
	"evidence": words.known(_facts),
} if {
	input.kind != "dir"
	count(_found) > 0
	not _confirmed
}

# The operator wants no second look at processes.
_confirmed if {
	input.kind == "process"
	input.config.confirm_process_after == 0
}

_confirmed if {
	_same
	some left in _left
	left <= 0
}

# The same reason on the same thing.
_same if {
	input.sighting.identity != ""
	input.sighting.identity == input.identity
	input.sighting.rule in _found
}

_asked := input.config.confirm_after if input.kind != "process"

_asked := input.config.confirm_process_after if input.kind == "process"

# In how many seconds a look may let it go at the earliest, by each of the ways in which it may.
_left contains _asked - input.sighting.first if input.kind != "process"

# A process when it does nothing until then.
_left contains max([_asked - input.sighting.first, _asked - _idle]) if input.kind == "process"

# One that is busy takes longer.
_left contains max([_asked, input.config.confirm_busy_after]) - input.sighting.first if input.kind == "process"

# Being busy is what a runaway goes for.
_left contains _asked - input.sighting.first if "reap.processes.runaway" in _found

default _idle := 0

_idle := input.sighting.idle

_reasons contains $"it was first found {words.span(input.sighting.first)} ago; at least {words.span(_asked)} is asked" if {
	_same
	input.sighting.first < _asked
}

_reasons contains "it has worked since the look before" if {
	_same
	input.sighting.idle == 0
}

_reasons contains $"it has done nothing for {words.span(input.sighting.idle)}; at least {words.span(_asked)} is asked" if {
	_same
	input.sighting.idle > 0
	input.sighting.idle < _asked
}

_reasons contains "whether it has worked since the look before is not known" if {
	input.kind == "process"
	_same
	not input.sighting.idle
}

_facts contains {"first": input.sighting.first}

_facts contains {"idle": input.sighting.idle}

_facts contains {"cpu": input.sighting.cpu}

_facts contains {"written": input.sighting.written}

_facts contains {"asked": _asked}

_facts contains {"left": max([0, min(_left)])} if _same

_facts contains {"left": _asked} if not _same

# Without a reason to reap there is nothing to wait for.
_found contains finding.rule if some finding in data.policies.reap[kinds.plural][_].findings
