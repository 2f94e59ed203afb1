# METADATA
# title: Leftovers of agents
# description: >-
#   Servers that an agent spoke with over pipes, and that did not end with it: no program can speak with them again. A
#   process that may be something else, or with one unknown fact, is not a leftover.
package policies.lib.leftovers

# The pids of an agent's servers and what runs them, left over in the panes' own sessions: asleep, with no peer.
pids := _unspoken & (_orphans | _below(_runner_orphans))

# The same for a process that is judged by itself. A process with child processes is not a leftover.
alone if {
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

# Programs that speak only with the program that started them.
families := {"mcp-server", "language-server"}

_servers contains member.pid if {
	some member in input.members
	member.pid in _still
	member.lineage.family in families
}

# What a server was started through, and what that was started through.
_inner := _runners & _parents(_servers)
_outer := _runners & _parents(_inner)

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

_known := (_servers | _inner) | _outer

# What speaks with one, if anything does, is left over too.
_unspoken contains member.pid if {
	some member in input.members
	member.pid in _known
	count({peer.pid | some peer in member.lineage.peers} & _known) == count(member.lineage.peers)
}

_orphans contains member.pid if {
	some member in input.members
	member.process.ppid in input.host.orphan_parents
}

_runner_orphans := ((_inner | _outer) & _orphans) | (_inner & _below(_outer & _orphans))
_parents(pids) := {member.process.ppid | some member in input.members; member.pid in pids}
_below(parents) := {member.pid | some member in input.members; member.process.ppid in parents}

_still contains member.pid if {
	some member in input.members
	member.pid in loose_members
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

# It was not meant to outlive what started it, it is connected to nothing else, and it writes nothing.
loose if {
	count(input.lineage.intent) == 0
	input.lineage.connections == 0
	settled
}

# It has no regular file open for writing, or each of these has not changed for as long as a busy process waits.
settled if input.lineage.writes_files == 0
settled if input.lineage.output >= input.config.confirm_busy_after

# The pids of the members of panes with nothing of that.
loose_members contains member.pid if {
	some member in input.members
	count(member.lineage.intent) == 0
	member.lineage.connections == 0
	member.lineage.writes_files == 0
}

loose_members contains member.pid if {
	some member in input.members
	count(member.lineage.intent) == 0
	member.lineage.connections == 0
	member.lineage.output >= input.config.confirm_busy_after
}
