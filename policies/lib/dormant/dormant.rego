# METADATA
# title: What nothing can speak with
# description: >-
#   A process that the kernel shows to be left alone for good: nothing writes to it, reads it, is connected to it or
#   listens to it, and what started it has ended. Each says so positively; one unknown fact and it is not said.
package policies.lib.dormant

import data.policies.lib.processes
import data.policies.lib.provenance
import data.policies.lib.ties

# No program can speak with the process or with one below it, and no person at a terminal.
unheard if {
	provenance.handed_over
	input.process.input_ended == true
	input.process.output_ended == true
	input.process.tty == ""
	input.lineage.tty_below == false
	count(input.lineage.ports) == 0
	count(input.lineage.tree_sockets) == 0
	processes.no_peers
}

# Nothing ties it either, and neither it nor one below it is known to be an agent or does anything by itself.
spent if {
	unheard
	_no_known_agent
	ties.loose
	input.process.waits == true
	input.lineage.agent_below == false
	count(_waiting) == count(input.lineage.below)
}

# An agent, which goes only when a person asks for it by name.
agent if {
	unheard
	processes.agent == true
}

# Whether it may be an agent, or an agent's, does not matter: it does nothing for any, or a person wants it gone.
free if spent

free if {
	agent
	input.asked.by == "user"
	input.asked.uid == input.host.uid
}

_no_known_agent if processes.agent == false
_no_known_agent if processes.program

_waiting contains place if {
	some place, below in input.lineage.below
	below.waits == true
}
