# METADATA
# title: Seen once
# description: >-
#   Keeps what a person may be looking at, and a process, until the same reason was found at an earlier look, long enough ago, on
#   the same thing. One look can be wrong: a shell between two commands is idle, and the build of an agent that was started anew is
#   nobody's child. What is ended cannot be brought back, so a process that works is waited for longer.
package policies.protect.seen_once

import data.policies.lib.kinds

# METADATA
# title: The reason was not found at an earlier look yet
# description: There is no earlier sighting of this thing with this reason, or it is too short a while ago.
objections contains {
	"rule": "protect.seen_once",
	"message": "it takes a second look, some time after the first, to be sure",
	"evidence": {
		"first": [seconds | seconds := input.sighting.first],
		"confirm_after": [seconds | seconds := input.config.confirm_after],
		"left": [seconds | seconds := max([0, input.config.confirm_after - _since])],
	},
} if {
	_interactive
	count(_found) > 0
	not _confirmed
}

# METADATA
# title: The process was not found to be idle at two looks yet
# description: >-
#   There is no earlier sighting of this process with this reason, or it is too short a while ago, or the process, or something below
#   it, has done some work since and was not found for so much longer.
objections contains {
	"rule": "protect.seen_once",
	"message": _process_message,
	"evidence": {
		"first": [seconds | seconds := input.sighting.first],
		"idle": [seconds | seconds := input.sighting.idle],
		"cpu": [processors | processors := input.sighting.cpu],
		"written": [bytes | bytes := input.sighting.written],
		"confirm_process_after": [seconds | seconds := input.config.confirm_process_after],
		"confirm_busy_after": [seconds | seconds := input.config.confirm_busy_after],
		"left": [seconds | seconds := _process_left],
	},
} if {
	input.kind == "process"
	count(_found) > 0
	not _process_confirmed
}

_interactive if input.kind == "session"

_interactive if input.kind == "tab"

_interactive if input.kind == "terminal"

_confirmed if {
	_same
	input.sighting.first >= input.config.confirm_after
}

# The same reason on the same thing.
_same if {
	input.sighting.identity != ""
	input.sighting.identity == input.identity
	input.sighting.rule in _found
}

# The operator wants no second look at processes.
_process_confirmed if input.config.confirm_process_after == 0

_process_confirmed if {
	_seen_twice
	input.sighting.idle >= input.config.confirm_process_after
}

# Being busy is what a runaway goes for.
_process_confirmed if {
	_seen_twice
	"reap.processes.runaway" in _found
}

_process_confirmed if {
	_seen_twice
	input.sighting.first >= input.config.confirm_busy_after
}

_seen_twice if {
	_same
	input.sighting.first >= input.config.confirm_process_after
}

default _process_message := "one look does not tell whether it is still at work"

_process_message := "it has worked since the look before" if {
	_same
	input.sighting.idle == 0
}

# METADATA
# description: In how many seconds at the earliest a look may let it go, which is when it does nothing until then.
_process_left := seconds if {
	_same
	"reap.processes.runaway" in _found
	seconds := max([0, input.config.confirm_process_after - input.sighting.first])
} else := seconds if {
	_same
	busy := max([input.config.confirm_process_after, input.config.confirm_busy_after]) - input.sighting.first
	seconds := max([0, min([input.config.confirm_process_after - _idle, busy])])
} else := input.config.confirm_process_after

default _idle := 0

_idle := input.sighting.idle if _same

default _since := 0

_since := input.sighting.first if _same

# Without a reason to reap there is nothing to wait for.
_found contains finding.rule if some finding in data.policies.reap[kinds.plural][_].findings
