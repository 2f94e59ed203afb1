# METADATA
# title: Duplicate of an agent's helper
# description: A copy of an MCP server whose own agent is gone, while every agent that may have started it has its own.
# custom:
#   candidates: [marked, below_agent, input_ended]
#   needs: [init, agent_markers]
#   waits: [rules.grace.process, rules.confirm_process_after]
#   parameters: [rules.families, collect.processes.markers]
package policies.reap.processes.duplicate_helper

import data.policies.lib.processes
import data.policies.lib.provenance

# An agent may have started the process, and it is an MCP server.
in_scope if {
	provenance.scope
	processes.no_known_agent
	input.lineage.family == "mcp-server"
}

findings contains {
	"message": "its agent is gone, and each agent that may have started it has a copy of its own",
	"evidence": {"parent": input.process.ppid, "agents": input.lineage.agents, "family": input.lineage.family},
} if {
	in_scope
	provenance.duplicate
}
