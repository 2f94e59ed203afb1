# METADATA
# title: Leaked server of an agent
# description: A server without a client, in a deleted or landed folder or in a build tool's own, whose agent has ended.
# custom:
#   candidates: [marked, below_agent, input_ended]
#   needs: [init, agent_markers]
#   waits: [rules.grace.process, rules.confirm_process_after]
#   parameters: [collect.processes.markers, rules.own_sockets, rules.daemon_folders, rules.landed_after]
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
	"message": $"it listens, its agent has ended, {concat(" and ", _folders)}, and no client is connected",
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

_folders contains "its folder was deleted" if input.process.cwd_deleted == true
_folders contains "its worktree may go and nothing else uses it" if provenance.unserved
_folders contains "a build that needs it starts another one" if provenance.renewed
