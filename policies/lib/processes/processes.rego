# METADATA
# title: Processes
# description: What a process is. Each is undefined where it is not known.
package policies.lib.processes

import data.policies.lib.registry

# Whether the process is an agent by its name or by what it was started from.
agent := input.lineage.is_agent

# True unless it is known that the process is an agent. It says what is worth looking at, never what may go.
no_known_agent if not agent

# Whether the process is a multiplexer's server.
multiplexer := listed if {
	input.process.name != ""
	listed := input.process.name in input.config.multiplexers
}

# True when positively no multiplexer handed the process its markers: none is above it, or none that carries them.
own_markers if input.lineage.multiplexer == false
own_markers if input.lineage.multiplexer_marked == false

# True when the process is old enough and has used as much of a processor, over its whole life, as makes a runaway.
busy if {
	input.age >= input.config.runaway.min_age
	input.busy >= input.config.runaway.min_cpu
}

# True when the process is busy all its life, for an owner who has ended; no multiplexer handed its marker down.
ownerless_runaway if {
	busy
	own_markers
	registry.marked_over
}

# True when the process positively listens on no port and on no unix socket that other programs use.
no_listener if {
	count(input.process.listening) == 0
	count(input.lineage.sockets) == 0
}

# True when positively no process outside of its tree can speak with it, or with what lives below it.
no_peers if count(input.lineage.peers) == 0

# True for what is positively no agent. No agent that waits for its model is busy all its life.
harmless if agent == false

harmless if {
	program
	ownerless_runaway
}

# True for what is known well enough to say that it is not known to be an agent.
no_positive_agent if agent == false
no_positive_agent if program

# True for an interpreter that by its name and file is no agent, while it is not known what it runs.
program if {
	input.lineage.unidentified == true
	input.process.exe != ""
}

# The folders of worktrees in which its deleted working directory lay: whole parts of the path before its last one.
worktree_folders contains folder if {
	input.process.cwd_deleted == true
	some folder in input.config.worktree_folders
	folder != ""
	contains(input.process.cwd, $"/{folder}/")
}
