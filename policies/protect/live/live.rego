# METADATA
# title: Live
# description: >-
#   Keeps what is in use: a folder that a process holds, a session in which anything but an idle shell runs, a process that
#   is an agent, has a terminal, listens, or has any of these below it. What could not be read counts as in use.
package policies.protect.live

import data.policies.lib.panes
import data.policies.lib.processes

# METADATA
# title: A process uses the folder
# description: A live process has the folder as its working directory, executable, root or open file, or who does is not known.
objections contains {
	"rule": "protect.live",
	"message": "a live process uses it, or whether one does is not known",
	"evidence": {"holders": [$"{holder.name} {holder.pid} {holder.how}" | some holder in input.holders]},
} if {
	input.kind == "dir"
	not _unused
}

# METADATA
# title: Something runs in the session
# description: A pane of the session holds more than its own idle shell, or what it holds is not known.
objections contains {
	"rule": "protect.live",
	"message": "something runs in one of its panes, or what does is not known",
	"evidence": {"running": {member.name | some member in input.session.panes[_].foreground}},
} if {
	input.kind == "session"
	not panes.all_quiet
}

# METADATA
# title: The process is in use
# description: >-
#   The process is an agent, has a terminal, belongs to a pane, or has an agent or a terminal below it, or whether it
#   does is not known.
objections contains {
	"rule": "protect.live",
	"message": "it is an agent, has a terminal, or has one of these below it, or whether it does is not known",
	"evidence": {k: v | some k, v in {"name": input.process.name, "tty": input.process.tty}},
} if {
	input.kind == "process"
	not _left
}

# METADATA
# title: The process listens
# description: The process or one below it listens on a port, or whether it does is not known.
objections contains {
	"rule": "protect.live",
	"message": "it or a process below it listens on a port, or whether it does is not known",
	"evidence": {"ports": [port | some port in input.process.listening]},
} if {
	input.kind == "process"
	not _silent
}

# METADATA
# title: Nothing can tell
# description: Of tabs and terminals it cannot be told yet whether anything runs in them.
objections contains {
	"rule": "protect.live",
	"message": "whether anything runs in it is not known",
	"evidence": {},
} if not _judged

_judged if input.kind == "dir"

_judged if input.kind == "session"

_judged if input.kind == "process"

_unused if {
	input.dir.holders_known == true
	count([holder | some holder in input.holders]) == 0
	count([holder | some holder in input.dir.holders]) == 0
}

_left if {
	processes.agent == false
	input.process.tty == ""
	input.process.state != ""
	input.lineage.agent_below == false
	input.lineage.tty_below == false
	count([pane | pane := input.lineage.pane]) == 0
}

_silent if input.config.spare_listeners == false

_silent if {
	count(input.process.listening) == 0
	input.lineage.listener_below == false
}
