# METADATA
# title: Orphan of an agent
# description: |-
#   A process that an agent started and left behind.
#
#   In scope is a process that carries an agent's marker, that earlier looks saw below agents that have all ended, or that is an MCP server with
#   nothing left to speak with, and that is not known to be an agent itself, by its name, by what it was started from, or by what an interpreter runs there. It is an orphan when its parent is
#   one of those that inherit orphans, no agent and no multiplexer is above it, and two things that do not rest on one another say that
#   an agent started it. These are enough:
#
#   - a marker whose value is an agent session's id or an agent's pid (`collect.processes.markers` says which are), where no
#     multiplexer was in between or that multiplexer does not carry it;
#   - such a marker that a multiplexer may have handed down, and a folder that agents work in, or one that was deleted;
#   - a marker that the leader of the process's session does not carry with that value;
#   - earlier looks saw it below agents, which have all ended, and it carries any marker, works where agents work, or is an MCP server;
#   - any marker, and it is an MCP server;
#   - it is an MCP server that listens nowhere, and nothing can write to its standard input any more: what spoke with it has ended. This needs no marker, and
#     no living agent counts, for none can speak with it.
#
#   A marker whose value is a flag, such as `CLAUDECODE=1`, is also set in people's own terminals, by the extensions of their editors. It is a hint
#   and convicts nobody by itself.
#
#   While an agent lives that may have started it, it stays, and [protect.owned](owned.md) names that agent. An older agent counts
#   unless it positively did not start it: looks saw the process below others; each identifying marker has a value that this agent
#   does not carry and would not have set (a pid that is not its own, a session of another vendor's program, another session than it had open by its own record since
#   before the process began, a session whose record names an older process that has ended,
#   a thread of Codex whose lock a killed Codex left behind); or the process got its marker in a session of the kernel's that the agent is not in and did not begin.
#
#   While some process may be an agent and does not show it (its file could not be read, or what an interpreter runs), nothing that
#   is younger is an orphan; what was itself left behind does not count here. `winnow sweep`, `explain` and `doctor` name that
#   process (`lineage.veiled_by`). A vendor's daemon counts as a living agent only while something runs below it.
#
#   What runs in an interpreter (`node`, `python3`, `MainThread`, ...) has to be known as well: of one that carries an agent's
#   marker, or stands below one that does, the name tells nothing, for many agents are such programs themselves. Only what is of a
#   listed family (an MCP server, a development server, a language server, a test runner, a build tool, npm and the like) is
#   positively no agent; all else stays ([protect.live](live.md)), and so does what it stands below.
#
#   One that carries the same session's identifying marker, or has that session open by its own record, counts however young it is,
#   since it has taken over. So does the process that `CLAUDE_PID` names, whatever it is called, and an unidentified process that
#   carries a marker itself and stands in a person's tree or has a terminal. So does what runs in an interpreter, is of no known
#   family, and has a child with an agent's marker that it does not carry itself: it set that. An unidentified process that was left
#   behind itself does not, or one that stays would keep all others for ever.
#
#   While another program can write to its standard input, or reads its standard output or error, it stays, whatever that program is
#   ([protect.live](live.md)).
#
#   What is below it ends with it: the process itself first, for the other way round a supervisor starts it again, and then whatever
#   was judged with it and outlived that. What it started since it was judged is left for the next sweep. A process that called
#   setsid and whose parent ended has no such parent, and is judged by itself.
# custom:
#   candidates: [marked, descended, input_ended]
#   needs: [init, agent_markers]
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
#   why: |-
#     A tmux server keeps the environment of whoever started it and hands it to every pane of every later session, has pid 1 for a
#     parent, and so looks like an agent's orphan. It was killed for that, with everything in it (gastownhall/gascity#5837,
#     termio-sh/termio#127). In a container every process may have pid 1 for a parent; there this rule finds nothing. Claude Code that
#     is started by its path is no `claude` by name, and three processes of a busy session were ended for that; Gemini, Qwen, Copilot
#     and others show as `node` or `MainThread`.
#   example: |-
#     `node` (7001) that runs `@modelcontextprotocol/server-filesystem`, parent the user's service manager, `CLAUDE_PID=24` in its
#     environment, no process 24: reaped, also while another `claude` lives. With `CODEX_THREAD_ID` alone, while a `codex` that is older than it
#     lives anywhere: spared by [protect.owned](owned.md), which names that one. A build with `CLAUDECODE=1` alone: no finding. The same server
#     that runs `main.js`: spared, for it may be an agent. While it listens on a port or on a unix socket: spared by
#     [protect.live](live.md).
package policies.reap.processes.orphan

import data.policies.lib.processes
import data.policies.lib.provenance

# METADATA
# title: In scope
# description: An agent may have started the process, and it is not known to be an agent itself.
in_scope if {
	input.kind == "process"
	provenance.scope
	processes.no_known_agent
}

# METADATA
# title: Its agent is gone
# description: An agent started the process, and what started it has ended.
findings contains {
	"rule": "reap.processes.orphan",
	"message": "an agent started it and is gone",
	"evidence": {
		"markers": input.lineage.markers,
		"parent": input.process.ppid,
		"agrees": provenance.sources,
		"seen": [$"{agent.name} ({agent.pid})" | some agent in input.lineage.seen],
	},
} if {
	in_scope
	processes.agent == false
	provenance.left_behind
}
