# METADATA
# title: Leftovers of agents
# description: >-
#   Servers that an agent spoke with over pipes, and that did not end with it: no program can speak with them again. A process that may be something else,
#   or that has one unknown fact, is not a leftover.
package policies.lib.leftovers

import data.policies.lib.ties

# METADATA
# scope: document
# title: Leftovers among the members
# description: >-
#   The pids of the processes in the panes' own sessions that are positively left over from an agent which is gone - its servers, and the
#   shells and package runners that such a one was started through. They are in the background, sleep and listen nowhere, nothing but one
#   another can speak with them, and nothing ties them (lib/ties).
pids contains member.pid if {
	some member in input.members
	member.pid in _unspoken
	member.process.ppid in input.host.orphan_parents
}

pids contains member.pid if {
	some member in input.members
	member.pid in _unspoken
	member.process.ppid in _handed_over
}

# METADATA
# title: The process is one
# description: The same for a process that is judged by itself. A process with child processes is not a leftover.
alone if {
	input.kind == "process"
	input.lineage.family in families
	input.lineage.descendants == 0
	_of_agent
	input.lineage.is_agent == false
	input.lineage.agents == 0
	input.lineage.agent_ancestor == false
	input.process.ppid in input.host.orphan_parents
	input.process.uid == input.host.uid
	input.process.state == "S"
	input.process.foreground_pgid > 0
	input.process.pgid != input.process.foreground_pgid
	count(input.process.listening) == 0
	count(input.lineage.sockets) == 0
}

_of_agent if count(input.lineage.added) > 0

_of_agent if input.lineage.seen_gone == true

# METADATA
# title: Families
# description: Programs that speak only with the program that started them.
families := {"mcp-server", "language-server"}

_known := (_servers | _inner) | _outer

# What speaks with one, if anything does, is left over too.
_unspoken contains member.pid if {
	some member in input.members
	member.pid in _known
	also := [peer.pid | some peer in member.lineage.peers; peer.pid in _known]
	count(also) == count(member.lineage.peers)
}

# One that was handed over counts by its parent too: a runner that is itself left over.
_handed_over contains member.pid if {
	some member in input.members
	member.pid in (_inner | _outer)
	member.process.ppid in input.host.orphan_parents
}

_handed_over contains member.pid if {
	some member in input.members
	some runner in input.members
	member.pid in _inner
	member.process.ppid == runner.pid
	runner.pid in _outer
	runner.process.ppid in input.host.orphan_parents
}

_servers contains member.pid if {
	some member in input.members
	member.pid in _still
	member.lineage.family in families
}

_inner contains member.pid if {
	some member in input.members
	member.pid in _runners
	some below in input.members
	below.process.ppid == member.pid
	below.pid in _servers
}

_outer contains member.pid if {
	some member in input.members
	member.pid in _runners
	some below in input.members
	below.process.ppid == member.pid
	below.pid in _inner
}

_runners contains member.pid if {
	some member in input.members
	member.pid in _still
	member.process.name in input.config.shells
}

_runners contains member.pid if {
	some member in input.members
	member.pid in _still
	member.lineage.family == "package-runner"
}

_still contains member.pid if {
	some member in input.members
	member.pid in ties.members
	member.how == "session"
	count(member.lineage.added) > 0
	member.lineage.is_agent == false
	member.lineage.agents == 0
	member.lineage.agent_ancestor == false
	member.lineage.agent_below == false
	member.lineage.listener_below == false
	member.process.uid == input.host.uid
	member.process.state == "S"
	member.process.foreground_pgid > 0
	member.process.pgid != member.process.foreground_pgid
	count(member.process.listening) == 0
	count(member.lineage.sockets) == 0
}
