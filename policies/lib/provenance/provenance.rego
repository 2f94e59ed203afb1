# METADATA
# title: Provenance of a process
# description: Who started a process. Each claim has its own source; two variables of one environment are one claim.
package policies.lib.provenance

import data.policies.lib.leftovers
import data.policies.lib.processes

# An agent may have started the process.
scope if count(input.lineage.markers) > 0
scope if input.lineage.seen_gone == true
scope if deaf

# What started it has ended, it was handed to what takes in orphans, and no agent or multiplexer is above it.
handed_over if {
	input.host.container == false
	input.process.ppid in input.host.orphan_parents
	input.lineage.agent_ancestor == false
	input.lineage.multiplexer_ancestor == false
}

# What says that an agent started the process, by where that is known from; `_words` says it in words.
claims contains "environment" if {
	count(input.lineage.identifying) > 0
	processes.own_markers
}

claims contains "handed" if count(input.lineage.identifying) > 0
claims contains "hint" if count(input.lineage.markers) > 0
claims contains "pane" if count(input.lineage.added) > 0
claims contains "memory" if input.lineage.seen_gone == true
claims contains "folder" if input.lineage.agent_dir != ""
claims contains "folder" if input.process.cwd_deleted == true
claims contains "program" if input.lineage.family == "mcp-server"
claims contains "input" if input.process.input_ended == true
claims contains "deaf" if deaf

# Two sources that do not rest on one another say that an agent started the process. A hint alone says nothing.
left_behind if {
	handed_over
	some proof in _proofs
	every claim in proof { claim in claims }
}

_proofs := [
	{"environment"}, {"pane"}, {"handed", "folder"}, {"memory", "hint"}, {"memory", "folder"},
	{"memory", "program"}, {"hint", "program"}, {"deaf"},
]

# An MCP server whose standard input has ended, and that listens nowhere: no program can speak with it again.
deaf if {
	input.process.input_ended == true
	input.lineage.family == "mcp-server"
	processes.no_listener
}

# The very agent that started the process is known, by its pid, its session's record or from looks, and has ended.
agent_gone if input.lineage.seen_gone == true

agent_gone if {
	processes.own_markers
	_named_gone
}

_named_gone if input.lineage.starter_gone == true
_named_gone if input.lineage.session_gone == true

# No living agent may have started the process.
free if input.lineage.agents == 0

# It listens, without a client. Its agent is known and has ended. Its folder was deleted or may go.
leaked if {
	left_behind
	agent_gone
	free
	_folder_over
	input.lineage.clients == 0
}

_folder_over if unserved
_folder_over if renewed

_folder_over if {
	input.process.cwd_deleted == true
	count(input.lineage.ports) > 0
	count(input.lineage.tree_sockets) == 0
}

# It listens in a worktree that may go but for it and for others that may go.
unserved if {
	input.process.worktree_done == true
	listens
}

# It listens in a folder that a build tool makes for its daemons: a build that finds none starts another one.
renewed if {
	some folder in input.config.daemon_folders
	glob.match(folder, ["/"], input.process.cwd)
	listens
}

# It, or one below it, listens on a TCP port or on a unix socket, and all of these are known.
listens if count(input.lineage.ports) + count(input.lineage.tree_sockets) > 0

# An MCP server that was handed over and listens nowhere, while every living agent that may have started it has a copy.
duplicate if {
	handed_over
	input.lineage.family == "mcp-server"
	"hint" in claims
	processes.agent == false
	processes.no_listener
	input.lineage.agents > 0
	input.lineage.copyless == 0
}

# No program and no person can speak with it, or with one below it, ever again: so the kernel says.
unheard if {
	handed_over
	input.process.input_ended == true
	input.process.output_ended == true
	input.process.tty == ""
	processes.no_listener
	processes.no_peers
}

# Nothing ties it either, it is not known to be an agent, and neither it nor one below it does anything by itself.
spent if {
	unheard
	leftovers.loose
	processes.no_positive_agent
	input.process.waits == true
	input.lineage.listener_below == false
	count([below | some below in input.lineage.below; below.waits == true]) == count(input.lineage.below)
}

# It is an agent, and only a person's word ends it.
stranded if {
	unheard
	processes.agent == true
}

# Whether it is an agent, or an agent's, does not matter.
unneeded if spent

unneeded if {
	stranded
	input.asked.by == "user"
	input.asked.uid == input.host.uid
}

# No living agent counts that may have started it: there is no such agent, or the process has proof of its own.
starterless if {
	count(input.lineage.markers) == 0
	not input.lineage.seen
}

starterless if free
starterless if duplicate

starterless if {
	deaf
	handed_over
}

starterless if {
	processes.no_listener
	processes.ownerless_runaway
}

starterless if {
	count(processes.worktree_folders) > 0
	input.host.container == false
	input.process.ppid in input.host.orphan_parents
}

# The claims in words, for evidence.
sources contains words if some words in [said | some claim, said in _words; claim in claims]

sources contains "its own files import what an MCP server needs" if input.process.proven == "mcp-server"

_words := {
	"environment": "a marker in its environment names an agent, and no multiplexer handed it down",
	"handed": "a marker in its environment names an agent",
	"pane": "the leader of its session does not carry the marker",
	"memory": "an earlier look saw it below an agent, which has ended",
	"folder": "it works where agents work, or its working directory was deleted",
	"program": "it is a server that only agents start",
	"input": "nothing can write to its standard input any more",
}
