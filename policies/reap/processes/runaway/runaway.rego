# METADATA
# title: Runaway of an owner that has ended
# description: |-
#   A process that has been busy for all its life, for an owner who has ended.
#
#   In scope is a process that carries one of `id_markers` and is not known to be an agent itself. It is a runaway when a registry
#   has an entry for that marker's value and every entry that any of its markers leads to has ended; when it is at least
#   `runaway.min_age` old and has used at least `runaway.min_cpu` processors over its whole life, its ended children's time
#   included, and counting what the machine is known to have slept as no life; when it positively listens nowhere, on no port and no
#   unix socket, and is no agent; what an interpreter runs need not be known (see [protect.live](live.md)); and when the marker is
#   its own: it comes out of no multiplexer, or out of one whose server does not carry the same marker. Who its parent is and where
#   it stands does not matter.
#
#   An owner without an entry, who lives, who is being restored or whose status is not listed
#   makes no runaway.
# custom:
#   candidates: [marked]
#   needs: [id_markers, recorded_markers]
#   waits: [rules.grace.process, rules.confirm_process_after]
#   parameters:
#     rules.runaway.min_age: "how old it must be, from 1m to 24h"
#     rules.runaway.min_cpu: "how many processors it must have used over its whole life, from 0.05 to 1"
#     rules.id_markers: "markers whose value says whose the process is"
#     rules.terminal_statuses: "the words that say an owner has ended, where the record does not say it itself"
#   why: |-
#     What an agent leaves running often leaves its folder and its parent too, so that neither finds it (erwins-enkel/shepherd#1144,
#     #1675). Its environment stays. But a multiplexer hands the environment that it was started with to every pane, and an entry that
#     is archived without the time of it is one that is just being restored. A busy process may be a server that somebody uses, or git
#     packing a repository; those stay ([protect.live](live.md), [protect.protected](protected.md)).
#   example: |-
#     `yes` (7200), six hours old, 5.8 hours of processor time, `SHEPHERD_SESSION_ID` of a session that is archived: reaped. While
#     that session runs: no finding, and [protect.owned](owned.md). With 4.7 hours: no finding.
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
# title: Its owner has ended, and it is busy
# description: The owner of the process has ended, and it has used more of a processor than is allowed, for long enough.
findings contains {
	"rule": "reap.processes.runaway",
	"message": "its owner has ended, and it has kept a processor busy ever since it was started",
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
