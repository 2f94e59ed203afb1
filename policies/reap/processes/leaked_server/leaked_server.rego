# METADATA
# title: Leaked server of an agent
# description: |-
#   A server that an agent started, of which nothing is left: its agent has ended, its folder was deleted, and no client is connected.
#
#   In scope is a process that carries an agent's marker, or that an earlier look saw below an agent, and that listens on a TCP
#   port or has a process below it that does. It may go when all that makes an orphan holds ([reap.processes.orphan](orphan.md)), the very
#   agent that started it is known and has ended (by `CLAUDE_PID` and the like, by the agent's record of its session, or from looks), no
#   living agent may have started it, its working directory was deleted, and no connection is open to any of the ports that it and
#   all below it listen on. A connection that only one side has closed counts as open, and so does one to a
#   unix socket that a program makes for itself (`rules.own_sockets`). It must not listen on any other unix socket. Where it has a socket of which nothing
#   tells who uses it, for datagrams or of another kind, whether a client is connected is unknown, and it stays.
#
#   This is the one reason for which [protect.live](live.md) lets a process go that listens.
# custom:
#   candidates: [marked, descended, input_ended]
#   needs: [init, agent_markers]
#   waits: [rules.grace.process, rules.confirm_process_after]
#   parameters:
#     collect.processes.markers: "the variables that are read at all, and what the value of each is"
#     rules.own_sockets: "unix sockets that a program makes for itself alone"
#   why: |-
#     A development server keeps its port when the agent that tried it out has ended, and its worktree was removed since: the next one takes the
#     next port, and all of them stay. It serves files that are gone. One that anybody is connected to is in use, whoever started it, and
#     one whose folder is there may be opened in a browser any minute.
#   example: |-
#     `node` (7300) that runs `vite`, parent 1, `CLAUDE_PID=24` in its environment and no process 24, working directory
#     `/w/acme-7 (deleted)`, listening on 5173, no connection: reaped. With a browser connected, or `/w/acme-7` still there: spared
#     by [protect.live](live.md).
package policies.reap.processes.leaked_server

import data.policies.lib.processes
import data.policies.lib.provenance

# METADATA
# title: In scope
# description: An agent may have started the process, and it or one below it listens on a TCP port.
in_scope if {
	input.kind == "process"
	provenance.scope
	processes.no_known_agent
	count(input.lineage.ports) > 0
}

# METADATA
# title: Nothing of it is left
# description: Its agent, its folder and its clients are gone.
findings contains {
	"rule": "reap.processes.leaked_server",
	"message": "it listens, its agent has ended, its folder was deleted, and no client is connected",
	"evidence": {"ports": input.lineage.ports, "cwd": input.process.cwd, "clients": input.lineage.clients, "agrees": provenance.sources},
} if {
	in_scope
	processes.agent == false
	provenance.leaked
}
