# METADATA
# title: Live
# description: >-
#   Keeps what is in use: a folder that a process holds, a session or tab in which anything but an idle shell runs, a session
#   with a popup, a terminal in which somebody is at work, a process that is an agent or may be one, has a terminal, listens, or has
#   any of these below it, or what may not end with it. What was started in a pane and runs on elsewhere is in use in that pane. What
#   could not be read counts as in use.
package policies.protect.live

import data.policies.lib.leftovers
import data.policies.lib.panes
import data.policies.lib.processes
import data.policies.lib.registry
import data.policies.lib.sessions
import data.policies.lib.terminals

# METADATA
# title: It is in use
# description: Something alive uses the candidate, or whether anything does is not known.
objections contains {
	"rule": "protect.live",
	"message": "a live process uses it, or whether one does is not known",
	"evidence": {"holders": [holder | some holder in input.holders]},
} if {
	input.kind == "dir"
	not _unused
}

objections contains {
	"rule": "protect.live",
	"message": _in_panes,
	"evidence": {
		"running": {member.name | some member in input.session.panes[_].foreground},
		"background": panes.background,
		"elsewhere": panes.elsewhere,
		"scripts": panes.scripts,
	},
} if {
	input.kind == "session"
	not panes.all_quiet
}

objections contains {
	"rule": "protect.live",
	"message": _beside,
	"evidence": {"running": {member.name | some member in input.session.popups}},
} if {
	input.kind == "session"
	not sessions.popless
}

objections contains {
	"rule": "protect.live",
	"message": _message,
	"evidence": {
		"tty": [tty | tty := input.process.tty],
		"ports": [port | some port in input.process.listening],
		"sockets": [socket | some socket in input.lineage.sockets],
	},
} if {
	input.kind == "process"
	not _left
}

objections contains {
	"rule": "protect.live",
	"message": _in_panes,
	"evidence": {
		"running": {member.name | some member in input.tab.panes[_].foreground},
		"background": panes.background,
		"elsewhere": panes.elsewhere,
		"scripts": panes.scripts,
		"agents": {status | status := input.tab.panes[_].agent_status},
	},
} if {
	input.kind == "tab"
	not _deserted
}

objections contains {
	"rule": "protect.live",
	"message": _at_work,
	"evidence": {
		"running": {member.name | some member in input.terminal.below},
		"idle": [idle | idle := input.idle],
	},
} if {
	input.kind == "terminal"
	not _abandoned
}

default _in_panes := "something runs in one of its panes, or what does is not known"

_in_panes := $"what was started in one of its panes runs on elsewhere: {concat(", ", panes.elsewhere)}" if {
	panes.quiet_here
	count(panes.elsewhere) > 0
} else := $"something runs behind the shell of one of its panes: {concat(", ", panes.background)}" if {
	count(panes.background) > 0
	count(_shell_in_front) == count(panes.all)
}

_shell_in_front contains place if {
	some place, pane in panes.all
	count(pane.foreground) == 1
	pane.foreground[0].name in input.config.shells
}

# Whatever the reason to reap is, the facts that make a terminal safe are asked for here anew.
_abandoned if terminals.exited

_abandoned if {
	input.terminal.role_kind == "shellper"
	terminals.childless
}

_abandoned if terminals.deserted

default _at_work := "whether anything runs in it is not known"

_at_work := "something runs in it that may be at work: it printed something not long ago, or when it did is not known" if {
	terminals.ownerless
	count(input.terminal.below) > 0
} else := "something runs in it" if {
	count(input.terminal.below) > 0
} else := "its Tower says that it runs" if {
	input.terminal.status == "running"
	terminals.childless
}

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
	count(input.lineage.below) == count([below.pid |
		some below in input.lineage.below
		below.name != ""
		below.uid == input.host.uid
		below.personal == ""
		below.own == true
		not below.name in input.config.multiplexers
		glob.match(_never, null, below.name) == false
		below.held == false
		_unprotected(below.id, below.name)
	])
}

# The operator's own globs mean what is below it as well.
_unprotected(id, name) if {
	id != ""
	every pattern in input.config.protected {
		pattern != id
		pattern != name
		glob.match(pattern, ["/"], id) == false
		glob.match(pattern, ["/"], name) == false
	}
}

_never := concat("", ["{", concat(",", input.config.never_processes), "}"])

default _beside := "whether a popup or a job of it runs is not known"

_beside := "a popup or a job of it runs" if count(input.session.popups) > 0

_silent if {
	processes.silent
	input.lineage.listener_below == false
}

_silent if input.config.spare_listeners == false

default _message := "whether it is an agent, has a terminal or listens, or one below it, is not known"

_message := $"it is a daemon that its vendor runs for all of its agents ({input.process.daemon}), which is ended by no rule" if {
	input.process.daemon != ""
} else := "it is an agent" if {
	processes.agent == true
} else := $"it has a terminal, and what runs there in {input.lineage.interpreter} is not known: it may be an agent (rules.families says what is none)" if {
	input.process.tty != ""
	input.lineage.unidentified == true
} else := "it has a terminal" if {
	input.process.tty != ""
} else := $"it belongs to the pane {input.lineage.pane}" if {
	input.lineage.pane != ""
} else := "it listens on a port" if {
	count(input.process.listening) > 0
} else := "it listens on a unix socket" if {
	count(input.lineage.sockets) > 0
} else := $"it runs in {input.lineage.interpreter}, and what it runs is not known: it may be an agent (rules.families says what is none)" if {
	input.lineage.unidentified == true
} else := "an agent runs below it" if {
	input.lineage.agent_below == true
} else := "a process below it has a terminal" if {
	input.lineage.tty_below == true
} else := "a process below it listens on a port or on a unix socket" if {
	input.lineage.listener_below == true
} else := "below it an interpreter runs what is not known: it may be an agent (rules.families says what is none)" if {
	input.lineage.unidentified_below == true
} else := "a process below it, which would end with it, is kept: it is never reaped, protected, held, somebody else's, or people use it too" if {
	count(input.lineage.below) > 0
} else := "more is below it than ends with one" if {
	input.lineage.descendants > 0
}
