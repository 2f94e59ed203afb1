# METADATA
# title: Attached
# description: >-
#   Keeps what somebody looks at: a session to which a client is attached that has pressed a key not long ago, or whose panes
#   another session shows, and a tab that has the focus. Attachment by itself is no reason; clients stay attached for weeks.
package policies.protect.attached

# METADATA
# title: Somebody looks at it
# description: A client is attached and was used lately, or whether one is could not be read.
objections contains {
	"rule": "protect.attached",
	"message": "somebody is attached to it and was active not long ago, or whether anybody is could not be read",
	"evidence": {k: v |
		some k, v in {
			"attached": input.session.attached,
			"client_idle": input.client_idle,
		}
	},
} if {
	input.kind == "session"
	not _unwatched
}

# METADATA
# title: Another session shows its panes
# description: The session is one of a group, or a window of it is linked into another session.
objections contains {
	"rule": "protect.attached",
	"message": "another session shows the same panes",
	"evidence": {"sessions": {other | some other in input.session.panes[_].linked}},
} if {
	input.kind == "session"
	not _alone
}

# METADATA
# title: It has the focus
# description: The tab is the focused one, or whether it is could not be read.
objections contains {
	"rule": "protect.attached",
	"message": _focus,
	"evidence": {},
} if {
	input.kind == "tab"
	not _unfocused
}

_unfocused if input.tab.focused == false

default _focus := "whether it is the focused tab is not known"

_focus := "it is the focused tab" if input.tab.focused == true

_unwatched if input.session.attached == 0

_unwatched if {
	input.session.attached > 0
	input.client_idle >= input.config.attached_idle
}

_alone if {
	_ungrouped
	not _linked
}

_linked if input.session.panes[_].linked[0]

_ungrouped if {
	input.session.group == ""
	not input.session.group_size
}

_ungrouped if {
	input.session.group == ""
	input.session.group_size <= 1
}

_ungrouped if {
	input.session.group != ""
	input.session.group_size == 1
}
