# METADATA
# title: Self
# description: >-
#   Keeps what Winnow itself runs in - its own process and all its ancestors, their session, tab or terminal, and the folder it stands in.
package policies.protect.self

import data.policies.lib.panes
import data.policies.lib.terminals

# METADATA
# title: Winnow runs in it
# description: The candidate is, holds or contains the looking process or one of its ancestors, or whether it does is not known.
objections contains {
	"rule": "protect.self",
	"message": "Winnow itself runs in it, or whether it does is not known",
	"evidence": {},
} if not _elsewhere

_elsewhere if {
	input.kind == "process"
	input.process.pid > 0
	input.process.pid != input.host.pid
	ancestor := input.process.pid in input.host.ancestors
	ancestor == false
}

_elsewhere if {
	input.kind == "session"
	_outside
}

# A tab says by herdr's own ids whether it is the one; its processes are looked through all the same.
_elsewhere if {
	input.kind == "tab"
	input.tab.own == false
	_outside
}

# A folder whose path begins the path of the own one is kept whether it contains that or only has a shorter name beside it, until
# the second rule has looked closer.
_elsewhere if {
	input.kind == "dir"
	input.host.pid > 0
	input.host.cwd != ""
	startswith(input.host.cwd, input.dir.path) == false
}

_elsewhere if {
	input.kind == "dir"
	input.host.pid > 0
	input.dir.path != ""
	input.host.cwd != input.dir.path
	startswith(input.host.cwd, concat("", [input.dir.path, "/"])) == false
}

_elsewhere if {
	input.kind == "terminal"
	input.host.pid > 0
	_ancestry
	_traced
	not _below
}

_outside if {
	input.host.pid > 0
	_ancestry
	count(_read) == count(panes.all)
	not _inside
}

# The ancestors were read. A process that was put into its pid namespace from outside (docker exec, nsenter) has none.
_ancestry if count(input.host.ancestors) >= 0

# A pane was read when its members are known, or there are none because it is dead.
_read contains place if {
	some place, pane in panes.all
	count(pane.session_pids) > 0
}

_read contains place if {
	some place, pane in panes.all
	pane.dead == true
}

# The processes of a terminal are its shellper and what lives below that, or there are none.
_traced if {
	input.terminal.pid > 0
	count([member.pid | some member in input.terminal.below; member.pid > 0]) == count(input.terminal.below)
}

_traced if terminals.ended

_below if input.terminal.pid == input.host.pid

_below if input.terminal.pid in input.host.ancestors

_below if {
	some member in input.terminal.below
	member.pid == input.host.pid
}

_below if {
	some member in input.terminal.below
	member.pid in input.host.ancestors
}

_inside if {
	some pid in panes.all[_].session_pids
	pid in input.host.ancestors
}

_inside if {
	some pid in panes.all[_].session_pids
	pid == input.host.pid
}

_inside if {
	some left in panes.all[_].descendants
	left.pid in input.host.ancestors
}

_inside if {
	some left in panes.all[_].descendants
	left.pid == input.host.pid
}
