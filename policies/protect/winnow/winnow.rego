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

# A process that was put into its pid namespace from outside (docker exec, nsenter) runs under none.
_not_inside if {
	input.kind != "dir"
	input.host.pid > 0
	count(input.host.ancestors) >= 0
	_read
	count(_inside & _own) == 0
}

_not_inside if {
	input.dir.path != ""
	input.host.pid > 0
	input.host.cwd != input.dir.path
	startswith(input.host.cwd, concat("", [input.dir.path, "/"])) == false
}

_own contains input.host.pid
_own contains pid if some pid in input.host.ancestors

# All processes of the candidate are known.
_read if input.process.pid > 0
_read if count(input.session.panes) == count(_read_panes)

# A tab says by herdr's own ids whether it is the one; its processes are looked through all the same.
_read if {
	input.tab.own == false
	count(input.tab.panes) == count(_read_panes)
}

# A tab of an editor holds its process and those of that one's session; one that an extension draws holds none.
_read if {
	tabs.of_process
	count(_session) == count(input.tab.editor.session)
}

_read if tabs.drawn

# The processes of a terminal are its shellper and what lives below that, or there are none.
_read if {
	input.terminal.pid > 0
	count(_below) == count(input.terminal.below)
}

_read if terminals.ended

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
