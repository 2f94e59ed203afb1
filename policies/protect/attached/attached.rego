# METADATA
# title: Attached
# description: >-
#   Keeps what somebody looks at: a session to which a client is attached that has pressed a key not long ago, or whose panes
#   another session shows, and a tab that has the focus. Attachment by itself is no reason; clients stay attached for weeks.
package policies.protect.attached

import data.policies.lib.words

# METADATA
# title: Somebody looks at it
# description: A client is attached and was used lately, or whether one is could not be read.
objections contains {
	"rule": "protect.attached",
	"message": words.said(_watched, "whether somebody is attached to it and uses it is not known"),
	"evidence": words.known(_facts),
} if {
	input.kind == "session"
	not _unwatched
}

# METADATA
# title: Another session shows its panes
# description: The session is one of a group, or a window of it is linked into another session.
objections contains {
	"rule": "protect.attached",
	"message": words.said(_shown, "whether it is one of a group of sessions is not known"),
	"evidence": {"sessions": {other | some pane in input.session.panes; some other in pane.linked}},
} if {
	input.kind == "session"
	not _alone
}

# METADATA
# title: It has the focus
# description: The tab is the focused one, or whether it is could not be read.
objections contains {
	"rule": "protect.attached",
	"message": words.said(_focused, "whether it is the focused tab is not known"),
	"evidence": {},
} if {
	input.kind == "tab"
	not input.tab.focused == false
}

_unwatched if input.session.attached == 0

_unwatched if {
	input.session.attached > 0
	input.client_idle >= input.config.attached_idle
}

_watched contains $"somebody is attached and used it {words.span(input.client_idle)} ago; at least {words.span(input.config.attached_idle)} is asked" if {
	input.client_idle < input.config.attached_idle
}

_focused contains "it is the focused tab" if input.tab.focused == true

_shown contains "another session shows one of its windows" if _linked

_shown contains $"it is one of a group of {input.session.group_size} sessions, which show the same windows" if _grouped

_alone if {
	_ungrouped
	not _linked
}

_linked if {
	some pane in input.session.panes
	pane.linked[0]
}

_ungrouped if {
	input.session.group == ""
	not _grouped
}

_ungrouped if input.session.group_size == 1

_grouped if input.session.group_size > 1

_facts contains {"attached": input.session.attached}

_facts contains {"client_idle": input.client_idle}
