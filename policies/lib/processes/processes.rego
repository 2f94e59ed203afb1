# METADATA
# title: Processes
# description: What a process is. Each is undefined where it is not known.
package policies.lib.processes

# METADATA
# title: Agent
# description: Whether the process is an agent by its name or by what it was started from.
agent := input.lineage.is_agent

# METADATA
# title: No known agent
# description: True unless it is known that the process is an agent. It says what is worth looking at, never what may go.
no_known_agent if not agent

# METADATA
# title: Multiplexer
# description: Whether the process is a multiplexer's server.
multiplexer := listed if {
	input.process.name != ""
	listed := input.process.name in input.config.multiplexers
}

# METADATA
# scope: document
# title: Own markers
# description: >-
#   True when the process was positively not handed its markers by a multiplexer: it comes out of none, or out of one that does
#   not carry them itself.
own_markers if input.lineage.multiplexer == false

own_markers if input.lineage.multiplexer_marked == false

# METADATA
# title: Busy all its life
# description: True when the process is old enough and has used as much of a processor, over its whole life, as makes a runaway.
busy if {
	input.age >= input.config.runaway.min_age
	input.busy >= input.config.runaway.min_cpu
}

# METADATA
# title: Does not listen
# description: True when the process positively listens on no port and on no unix socket that other programs use.
no_listener if {
	count(input.process.listening) == 0
	count(input.lineage.sockets) == 0
}

# METADATA
# title: No program speaks with it
# description: >-
#   True when positively no process outside of its tree can write to the standard input, or reads the output, of it or of what lives below it. It is known
#   of what was handed over.
no_peers if count(input.lineage.peers) == 0

# METADATA
# title: Only a program
# description: >-
#   True for what runs in an interpreter, by its name and file is no agent, and of which it is not known what it runs. It says what a
#   process is called and no more.
program if {
	input.lineage.unidentified == true
	input.process.exe != ""
}
