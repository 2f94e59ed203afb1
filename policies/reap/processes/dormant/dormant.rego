# METADATA
# title: Process that nothing can speak with
# description: >-
#   A process, whatever it is called, whose input and output lead nowhere, and which does nothing by itself. Of an agent
#   it is only said.
# custom:
#   candidates: [input_ended]
#   needs: [init]
#   waits: [rules.grace.process, rules.dormant_after]
package policies.reap.processes.dormant

import data.policies.lib.dormant

# What started the process has ended, and nothing can come to its standard input any more.
in_scope if {
	input.process.input_ended == true
	input.process.ppid in input.host.orphan_parents
}

findings contains {
	"message": "nothing can speak with it any more, and it waits for what cannot come",
	"evidence": {"parent": input.process.ppid, "age": input.age, "cpu": input.process.cpu},
} if {
	in_scope
	dormant.spent
}

findings contains {
	"message": "no program and no person can speak with this agent any more",
	"evidence": {"agent": input.process.name, "parent": input.process.ppid, "age": input.age},
} if {
	in_scope
	dormant.agent
}
