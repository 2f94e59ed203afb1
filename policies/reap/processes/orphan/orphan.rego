# METADATA
# title: Orphan of an agent
# description: >-
#   A process that an agent started and left behind: it carries an agent's marker, no agent lives that may have started it,
#   and it was inherited by a process that takes in orphans. A marker alone proves nothing, since a multiplexer hands down the
#   one that it was started with to all its panes; something else must agree with it.
# custom:
#   candidates: [marked]
package policies.reap.processes.orphan

import data.policies.lib.processes

# METADATA
# title: In scope
# description: The process carries an agent's marker and is not known to be an agent itself.
in_scope if {
	input.kind == "process"
	count(input.lineage.markers) > 0
	processes.no_known_agent
}

# METADATA
# title: Its agent is gone
# description: An agent started the process, that agent is gone, and nobody else has taken the process over.
findings contains {
	"rule": "reap.processes.orphan",
	"message": "an agent started it and is gone",
	"evidence": {"markers": input.lineage.markers, "parent": input.process.ppid, "agrees": _agrees},
} if {
	in_scope
	processes.agent == false
	input.host.container == false
	input.process.ppid in input.host.orphan_parents
	input.lineage.agents == 0
	input.lineage.agent_ancestor == false
	input.lineage.multiplexer_ancestor == false
	count(_agrees) > 0
}

_agrees contains "no multiplexer in between" if input.lineage.multiplexer == false

_agrees contains "the multiplexer does not carry the marker" if input.lineage.multiplexer_marked == false

_agrees contains "the leader of its session does not carry the marker" if count(input.lineage.added) > 0

_agrees contains "it works where agents work" if input.lineage.agent_dir != ""

_agrees contains "its working directory was deleted" if input.process.cwd_deleted == true
