# METADATA
# title: Process that nothing can speak with
# description: A process that nothing can speak with and that does nothing by itself, under any name. Agents are named.
# custom:
#   candidates: [input_ended]
#   needs: [init]
#   waits: [rules.grace.process, rules.dormant_after]
package policies.reap.processes.dormant

import data.policies.lib.provenance
import data.policies.lib.reasons

# What started the process has ended, and nothing can come to its standard input any more.
in_scope if {
	provenance.handed_over
	input.process.input_ended == true
}

findings contains {"message": message, "evidence": reasons.evidence(_facts)} if some message in _messages
_messages contains "nothing can speak with it any more, and it waits for what cannot come" if provenance.spent
_messages contains "no program and no person can speak with this agent any more" if provenance.stranded
_facts contains {"agent": input.process.name} if provenance.stranded
_facts contains {"parent": input.process.ppid}
_facts contains {"age": input.age}
