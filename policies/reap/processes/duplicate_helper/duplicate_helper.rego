# METADATA
# title: Duplicate of an agent's helper
# description: |-
#   A copy of an MCP server whose own agent is gone, while every agent that may have started it has a copy of its own.
#
#   In scope is an MCP server (`families`) that carries an agent's marker or that an earlier look saw below an agent. It may go when
#   its parent is one of those that inherit orphans, no agent and no multiplexer is above it, it listens nowhere, and each living
#   agent that may have started it has a living process of the same package, program and command line below itself.
#
#   An agent may use two copies, and what it started one of them with may have ended. So a copy stays while anything can write to its input or reads its
#   output ([protect.live](live.md)).
#
#   Where no living agent may have started it, [reap.processes.orphan](orphan.md) says so.
# custom:
#   candidates: [marked, descended, input_ended]
#   needs: [init, agent_markers]
#   waits: [rules.grace.process, rules.confirm_process_after]
#   parameters:
#     rules.families: "what an interpreter may positively be running"
#     collect.processes.markers: "the variables that are read at all, and what the value of each is"
#   why: |-
#     After an agent was killed its MCP servers often stay, deaf to the end of their input. The next agent starts the same ones again. Where
#     markers do not tell one agent from another, each older living agent may have started those that were left.
#   example: |-
#     `node` (7400) that runs `@modelcontextprotocol/server-filesystem /w`, parent 1, `CODEX_THREAD_ID` in its environment. `codex` (31) is older,
#     lives, and has the same server with the same folder below it: reaped. With another folder, or without any: spared by
#     [protect.owned](owned.md), which names `codex`.
package policies.reap.processes.duplicate_helper

import data.policies.lib.processes
import data.policies.lib.provenance

# METADATA
# title: In scope
# description: An agent may have started the process, and it is an MCP server.
in_scope if {
	input.kind == "process"
	provenance.scope
	processes.no_known_agent
	input.lineage.family == "mcp-server"
}

# METADATA
# title: Its agent is gone, and others have their own
# description: It was handed over, and each agent that may have started it has a copy of its own.
findings contains {
	"rule": "reap.processes.duplicate_helper",
	"message": "its agent is gone, and each agent that may have started it has a copy of its own",
	"evidence": {"parent": input.process.ppid, "agents": input.lineage.agents, "family": input.lineage.family},
} if {
	in_scope
	provenance.duplicate
}
