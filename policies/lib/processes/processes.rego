# METADATA
# title: Processes
# description: What a process is by its name. Each is undefined for a process without one.
package policies.lib.processes

# METADATA
# title: Agent
# description: Whether the process is an agent itself.
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
