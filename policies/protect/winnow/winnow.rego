# METADATA
# title: Winnow
# description: Keeps what Winnow itself runs in.
# custom:
#   kinds: all
#   summary: {rank: 10, group: in use by Winnow itself}
package policies.protect.winnow

import data.policies.lib.panes
import data.policies.lib.reasons
import data.policies.lib.tabs
import data.policies.lib.terminals

# METADATA
# title: Winnow runs in it
# description: The candidate is, holds or contains the looking process or one of its ancestors, or may.
objections contains reasons.keep(_reasons, "whether Winnow itself runs in it is not known", {}) if not _not_inside

# METADATA
# title: Winnow stands in its worktree
# description: The candidate is a folder in the worktree that the looking process stands in, or may be.
objections contains {"message": _in_worktree, "evidence": {}} if {
	input.dir.content
	not _other_worktree
}

_in_worktree := "Winnow itself stands in its worktree, or whether it does is not known"

_other_worktree if {
	input.host.cwd != input.dir.content.worktree
	startswith(input.host.cwd, concat("", [input.dir.content.worktree, "/"])) == false
}

_not_inside if {
	input.kind != "dir"
	_known
	_read
	count(_inside & _own) == 0
}

# A folder whose path begins the path of the own one is kept whether it contains that or only has a shorter name beside
# it, until the second rule has looked closer.
_not_inside if {
	input.kind == "dir"
	input.host.pid > 0
	input.host.cwd != ""
	startswith(input.host.cwd, input.dir.path) == false
}

_not_inside if {
	input.kind == "dir"
	input.host.pid > 0
	input.dir.path != ""
	input.host.cwd != input.dir.path
	startswith(input.host.cwd, concat("", [input.dir.path, "/"])) == false
}

# Winnow's own process and those that it runs under were read. One that was put into its pid namespace from outside
# (docker exec, nsenter) runs under none.
_known if {
	input.host.pid > 0
	count(input.host.ancestors) >= 0
}

_own contains input.host.pid

_own contains pid if some pid in input.host.ancestors

# All processes of the candidate are known.
_read if {
	input.kind == "process"
	input.process.pid > 0
}

_read if {
	input.kind == "session"
	count(_read_panes) == count(panes.present)
}

# A tab says by herdr's own ids whether it is the one; its processes are looked through all the same.
_read if {
	input.kind == "tab"
	input.tab.own == false
	count(_read_panes) == count(panes.present)
}

# A tab of an editor holds its process and those of that one's session; one that an extension draws holds none.
_read if {
	input.kind == "tab"
	tabs.of_process
	count(_session) == count(input.tab.editor.session)
}

_read if {
	input.kind == "tab"
	tabs.drawn
}

# The processes of a terminal are its shellper and what lives below that, or there are none.
_read if {
	input.kind == "terminal"
	input.terminal.pid > 0
	count(_below) == count(input.terminal.below)
}

_read if {
	input.kind == "terminal"
	terminals.ended
}

# A pane was read when its members are known, or there are none because it is dead.
_read_panes contains place if {
	some place, pane in panes.present
	count(pane.session_pids) > 0
}

_read_panes contains place if {
	some place, pane in panes.present
	pane.dead == true
}

_inside contains input.process.pid
_inside contains input.tab.editor.pid
_inside contains input.terminal.pid

_inside contains pid if some pid in (_session | _below)

_inside contains pid if {
	some pane in panes.present
	some pid in pane.session_pids
}

_inside contains left.pid if {
	some pane in panes.present
	some left in pane.descendants
}

_session contains member.pid if some member in input.tab.editor.session

_below contains member.pid if {
	some member in input.terminal.below
	member.pid > 0
}

_reasons contains "Winnow itself runs in it" if count(_inside & _own) > 0
_reasons contains "Winnow itself runs in it" if input.tab.own == true
_reasons contains "Winnow itself stands in it" if input.host.cwd == input.dir.path
_reasons contains "Winnow itself stands in it" if startswith(input.host.cwd, concat("", [input.dir.path, "/"]))
