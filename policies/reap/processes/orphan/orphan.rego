# METADATA
# title: Orphan of an agent
# description: A process that an agent started and left behind.
# custom:
#   candidates: [marked, below_agent, input_ended]
#   needs: [init, agent_markers, starter]
#   waits: [rules.grace.process, rules.confirm_process_after]
#   parameters: ["rules.agents, rules.agent_scripts, rules.agent_packages", rules.agent_daemons, rules.interpreters,
#     rules.families, rules.id_markers, rules.pid_markers, collect.claude.sessions, collect.codex.threads,
#     rules.pane_markers, collect.processes.markers]
package policies.reap.processes.orphan

import data.policies.lib.processes
import data.policies.lib.provenance
import data.policies.lib.reasons

# An agent may have started the process, and it is not known to be an agent itself.
in_scope if {
	provenance.scope
	processes.no_known_agent
}

findings contains {
	"message": reasons.or_default({"its agent has ended" | input.lineage.agents == 0}, "what started it has ended"),
	"evidence": {"markers": markers, "parent": input.process.ppid, "agrees": provenance.sources, "seen": seen},
} if {
	in_scope
	markers := input.lineage.markers
	processes.agent == false
	provenance.left_behind
	seen := [$"{agent.name} ({agent.pid})" | some agent in input.lineage.seen]
}
