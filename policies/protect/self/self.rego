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
	input.host.pid > 0
	count(input.host.ancestors) > 0
	count(_read) == count(input.session.panes)
	not _inside
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

_inside if {
	some pid in input.session.panes[_].session_pids
	pid in input.host.ancestors
}

_inside if {
	some pid in input.session.panes[_].session_pids
	pid == input.host.pid
}

_inside if {
	some left in input.session.panes[_].descendants
	left.pid in input.host.ancestors
}

_inside if {
	some left in input.session.panes[_].descendants
	left.pid == input.host.pid
}
