# METADATA
# title: Orphan of an agent
# description: A process that an agent started and left behind.
# custom:
#   candidates: [marked, below_agent, input_ended]
#   needs: [init, agent_markers, starter]
#   waits: [rules.grace.process, rules.confirm_process_after]
#   parameters:
#     rules.agents, rules.agent_scripts, rules.agent_packages: "what agents are known by"
#     rules.agent_daemons: "what vendors leave running for all of their agents"
#     rules.interpreters: "programs that run other programs"
#     rules.families: "what an interpreter may positively be running"
#     rules.id_markers: "markers that tell one agent session from another"
#     rules.pid_markers: "markers that name the agent's process, besides those that are described so"
#     collect.claude.sessions: "Claude Code's own record of its open sessions"
#     collect.codex.threads: "Codex's own locks of its open threads"
#     rules.pane_markers: "markers that say where a process was, not who started it"
#     collect.processes.markers: "the variables that are read at all, and what the value of each is"
package policies.reap.processes.orphan

import data.policies.lib.processes
import data.policies.lib.provenance

# An agent may have started the process, and it is not known to be an agent itself.
in_scope if {
	provenance.scope
	processes.no_known_agent
}

# METADATA
# title: Its agent is gone
# description: An agent started the process, and what started it has ended.
findings contains {
	"message": "an agent started it and is gone",
	"evidence": {"markers": input.lineage.markers, "parent": input.process.ppid, "agrees": provenance.sources, "seen": seen},
} if {
	in_scope
	processes.agent == false
	provenance.left_behind
	seen := [$"{agent.name} ({agent.pid})" | some agent in input.lineage.seen]
}
