# METADATA
# title: Live
# description: >-
#   Keeps what is in use: a folder that a process holds, a session or tab in which anything but an idle shell runs, a session
#   with a popup, a terminal in which somebody is at work, a process that is an agent or may be one, has a terminal, listens, or has
#   any of these below it, or what may not end with it. What was started in a pane and runs on elsewhere is in use in that pane. What
#   could not be read counts as in use.
package policies.protect.live

import data.policies.lib.leftovers
import data.policies.lib.names
import data.policies.lib.panes
import data.policies.lib.processes
import data.policies.lib.registry
import data.policies.lib.sessions
import data.policies.lib.terminals
import data.policies.lib.words

# METADATA
# title: It is in use
# description: Something alive uses the candidate, or whether anything does is not known.
# scope: document
objections contains {
	"rule": "protect.live",
	"message": words.said(_users, "who uses it is not known: not every process that may use it could be read"),
	"evidence": {"holders": [holder | some holder in input.holders]},
} if {
	input.kind == "dir"
	not _unused
}

objections contains {
	"rule": "protect.live",
	"message": words.said(_in_panes, "what runs in one of its panes is not known"),
	"evidence": _panes,
} if {
	input.kind == "session"
	not panes.all_quiet
}

objections contains {
	"rule": "protect.live",
	"message": words.said(_beside, "whether a popup or a job of it runs is not known"),
	"evidence": {"running": {member.name | some member in input.session.popups}},
} if {
	input.kind == "session"
	not sessions.popless
}

objections contains {
	"rule": "protect.live",
	"message": words.said(_reasons, "whether it is an agent, has a terminal or listens, or one below it, is not known"),
	"evidence": words.known(_facts),
} if {
	input.kind == "process"
	not _left
}

objections contains {
	"rule": "protect.live",
	"message": words.said(_in_panes | _agents, "what runs in one of its panes, or whether an agent does, is not known"),
	"evidence": _panes,
} if {
	input.kind == "tab"
	not _deserted
}

objections contains {
	"rule": "protect.live",
	"message": words.said(_at_work, "whether anything runs in it is not known"),
	"evidence": words.known(_terminal),
} if {
	input.kind == "terminal"
	not _abandoned
}

_users contains $"{holder.name} ({holder.pid}) uses it" if some holder in input.holders

_panes := {
	"running": {member.name | some pane in panes.all; some member in pane.foreground},
	"background": panes.background,
	"elsewhere": panes.elsewhere,
	"scripts": panes.scripts,
}

_in_panes contains $"what was started in one of its panes runs on elsewhere: {concat(", ", panes.elsewhere)}" if count(panes.elsewhere) > 0

_in_panes contains $"something runs behind the shell of one of its panes: {concat(", ", panes.background)}" if count(panes.background) > 0

_in_panes contains $"a shell in one of its panes runs a script or a command: {concat(", ", panes.scripts)}" if count(panes.scripts) > 0

_in_panes contains $"something runs in one of its panes: {concat(", ", _in_front)}" if count(_in_front) > 0

_in_front contains member.name if {
	some pane in panes.all
	some member in pane.foreground
	not member.name in input.config.shells
}

_agents contains $"herdr says of the agent in one of its panes: {pane.agent_status}" if {
	some pane in input.tab.panes
	pane.agent_status != ""
	not pane.agent_status in input.config.agent_idle
}

# Whatever the reason to reap is, the facts that make a terminal safe are asked for here anew.
_abandoned if terminals.exited

_abandoned if {
	input.terminal.role_kind == "shellper"
	terminals.childless
}

_abandoned if terminals.deserted

_at_work contains $"something runs in it: {concat(", ", _below)}" if count(_below) > 0

_at_work contains $"it printed something {words.span(input.idle)} ago; at least {words.span(input.config.terminal_idle)} is asked" if {
	terminals.ownerless
	count(_below) > 0
	input.idle < input.config.terminal_idle
}

_at_work contains "its Tower says that it runs" if {
	input.terminal.status == "running"
	terminals.childless
}

_below contains member.name if some member in input.terminal.below

_terminal contains {"running": _below}

_terminal contains {"idle": input.idle}

# Processes are the truth, and herdr's word for an agent can lie; but it sees some that hide behind a shell's name.
_deserted if {
	panes.all_listed
	panes.all_idle
	panes.no_agents
}

_unused if {
	input.dir.holders_known == true
	not input.holders[0]
}

# A server that an agent left behind in a pane has that pane's terminal, and nobody in it can speak with it.
_left if {
	leftovers.alone
	_silent
}

# A process whose session is known and that no pane claims has no pane at all: the panes' sources were read, or protect.unknown
# objects.
_left if {
	input.process.tty == ""
	input.process.state != ""
	input.process.session >= 0
	_no_agent
	input.lineage.agent_below == false
	input.lineage.tty_below == false
	not input.lineage.pane
	_silent
	_alone_or_ordinary
}

_no_agent if processes.agent == false

# What an interpreter runs is not known; but whoever it worked for is positively over, and no agent that waits for its model is busy all
# its life.
_no_agent if {
	processes.program
	processes.busy
	processes.own_markers
	registry.marked_over
}

# What is below a process ends with it.
_alone_or_ordinary if {
	every below in input.lineage.below {
		below.uid == input.host.uid
		below.personal == ""
		below.own == true
		multiplexer := below.name in input.config.multiplexers
		multiplexer == false
		names.endable(below.name)
		below.held == false
		below.id != ""
		names.unprotected(below.id)
		names.unprotected(below.name)
	}
}

_beside contains "a popup or a job of it runs" if count(input.session.popups) > 0

_silent if {
	processes.silent
	input.lineage.listener_below == false
}

_silent if input.config.spare_listeners == false

_reasons contains $"it is a daemon that its vendor runs for all of its agents ({input.process.daemon}), which no rule ends" if input.process.daemon != ""

_reasons contains "it is an agent" if processes.agent == true

_reasons contains "it has a terminal" if input.process.tty != ""

_reasons contains $"it belongs to the pane {input.lineage.pane}" if input.lineage.pane != ""

_reasons contains $"it runs in {input.lineage.interpreter}, and what it runs is not known: it may be an agent (rules.families says what is not)" if input.lineage.unidentified == true

_reasons contains "an agent runs below it" if input.lineage.agent_below == true

_reasons contains "a process below it has a terminal" if input.lineage.tty_below == true

_reasons contains "below it an interpreter runs what is not known: it may be an agent (rules.families says what is not)" if {
	input.lineage.unidentified_below == true
}

_reasons contains "it listens on a port" if {
	count(input.process.listening) > 0
	not _silent
}

_reasons contains "it listens on a unix socket" if {
	count(input.lineage.sockets) > 0
	not _silent
}

_reasons contains "a process below it listens on a port or on a unix socket" if {
	input.lineage.listener_below == true
	not _silent
}

_reasons contains "a process below it, which would end with it, is kept: it is never reaped, protected, held, another owner's, or people use it too" if {
	count(input.lineage.below) > 0
	not _alone_or_ordinary
}

_reasons contains $"{input.lineage.descendants} processes are below it, more than end with one" if {
	input.lineage.descendants > 0
	not input.lineage.below
}

_facts contains {"tty": input.process.tty}

_facts contains {"ports": input.process.listening}

_facts contains {"sockets": input.lineage.sockets}
