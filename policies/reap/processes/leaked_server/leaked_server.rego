# METADATA
# title: Leaked server of an agent
# description: A server whose agent has ended, whose folder was deleted or has landed, and that no client uses.
# custom:
#   candidates: [marked, below_agent, input_ended]
#   needs: [init, agent_markers]
#   waits: [rules.grace.process, rules.confirm_process_after]
#   parameters: [collect.processes.markers, rules.own_sockets, rules.landed_after]
package policies.reap.processes.leaked_server

import data.policies.lib.processes
import data.policies.lib.provenance

# An agent may have started the process, and it or one below it listens.
in_scope if {
	provenance.scope
	processes.no_known_agent
	provenance.listens
}

findings contains {
	"message": $"it listens, its agent has ended, {_folder}, and no client is connected",
	"evidence": {
		"ports": input.lineage.ports, "sockets": input.lineage.tree_sockets, "cwd": input.process.cwd, "clients": clients,
		"agrees": provenance.sources,
	},
} if {
	in_scope
	clients := input.lineage.clients
	processes.agent == false
	provenance.leaked
}

_folder := "its folder was deleted" if input.process.cwd_deleted == true
_folder := "its worktree may go and nothing else uses it" if provenance.unserved
