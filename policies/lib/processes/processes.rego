# METADATA
# title: Processes
# description: What a process is by its name. Each is undefined for a process without one.
package policies.lib.processes

# METADATA
# title: Agent
# description: Whether the process has the name of an agent.
agent := listed if {
	input.process.name != ""
	listed := input.process.name in input.config.agents
}

# METADATA
# title: Multiplexer
# description: Whether the process is a multiplexer's server.
multiplexer := listed if {
	input.process.name != ""
	listed := input.process.name in input.config.multiplexers
}

# METADATA
# title: No agent
# description: >-
#   True when neither the process's name nor what it was started from is an agent's: a program may rename itself, and what it was
#   started from may have been replaced since.
no_agent if {
	agent == false
	strings.any_suffix_match(trim_suffix(input.process.exe, " (deleted)"), input.config.agents) == false
}
