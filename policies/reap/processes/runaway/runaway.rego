# METADATA
# title: Runaway of an owner that has ended
# description: A process that has been busy for all its life, for an owner who has ended.
# custom:
#   candidates: [marked]
#   needs: [id_markers, recorded_markers]
#   waits: [rules.grace.process, rules.confirm_process_after]
#   parameters: [rules.runaway.min_age, rules.runaway.min_cpu, rules.id_markers, rules.terminal_statuses]
package policies.reap.processes.runaway

import data.policies.lib.processes
import data.policies.lib.registry

# The process carries an identifying marker and is not known to be an agent itself.
in_scope if {
	some name in input.config.id_markers
	input.process.markers[name] != ""
	processes.no_known_agent
}

findings contains {
	"message": "its owner has ended, and it has kept a processor busy ever since it was started",
	"evidence": {"owners": owners, "age": input.age, "cpu": input.process.cpu, "busy": input.busy},
} if {
	in_scope
	processes.no_positive_agent
	processes.no_listener
	processes.ownerless_runaway
	owners := {input.entries[place].id | some place in registry.marked}
}
