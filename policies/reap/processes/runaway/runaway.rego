# METADATA
# title: Runaway of an owner that is over
# description: >-
#   A process that carries the identifying marker of an owner who is positively over, and that has kept a processor busy for all
#   its life. Neither its parent nor where it stands matters: it may have left both. A marker that a multiplexer handed down to
#   its panes proves nothing.
# custom:
#   candidates: [marked]
package policies.reap.processes.runaway

import data.policies.lib.processes
import data.policies.lib.registry

# METADATA
# title: In scope
# description: The process carries an identifying marker and is not known to be an agent itself.
in_scope if {
	input.kind == "process"
	some name in input.config.id_markers
	input.process.markers[name] != ""
	processes.no_known_agent
}

# METADATA
# title: Its owner is over, and it is busy
# description: Whoever started the process is over, and it has used more of a processor than is allowed, for long enough.
findings contains {
	"rule": "reap.processes.runaway",
	"message": "its owner is over, and it has kept a processor busy ever since it was started",
	"evidence": {
		"owners": {input.entries[place].id | some place in registry.marked},
		"age": input.age,
		"cpu": input.process.cpu,
		"busy": input.busy,
	},
} if {
	in_scope
	_no_agent
	processes.busy
	processes.silent
	processes.own_markers
	registry.marked_over
}

_no_agent if processes.agent == false

_no_agent if processes.program
