# METADATA
# title: Self
# description: Keeps what Winnow itself runs in - its own process and all its ancestors, their session, and the folder it stands in.
package policies.protect.self

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
	count(_read) == count(input.session.panes)
	itself := input.host.pid in _members
	itself == false
	count(input.host.ancestors) > 0
	count([pid | some pid in input.host.ancestors; pid in _members]) == 0
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
	input.kind == "tab"
	input.host.pid > 0
}

_elsewhere if {
	input.kind == "terminal"
	input.host.pid > 0
}

# A pane was read when its members are known, or there are none because it is dead.
_read contains place if {
	some place, pane in input.session.panes
	count(pane.session_pids) > 0
}

_read contains place if {
	some place, pane in input.session.panes
	pane.dead == true
}

_members contains pid if some pid in input.session.panes[_].session_pids

_members contains member.pid if some member in input.session.panes[_].session

_members contains left.pid if some left in input.session.panes[_].descendants
