# METADATA
# title: Attached
# description: |-
#   Keeps what a person may be looking at.
#
#   A session with an attached client that was used less than `attached_idle` ago, or whose clients or their activity could not be
#   read; a program that speaks tmux's control mode (iTerm2) is a client as any other; and one whose panes another session shows
#   too, as one of a group or through a linked window. A herdr tab that has the focus, or of which that is not known. A terminal tab
#   of an editor with a process, while it is the active one of the window that has the focus; a tab that an extension draws is not
#   kept by it, because its text is the extension's.
# custom:
#   kinds: session, tab
#   parameters:
#     rules.attached_idle: "a client that has not been used for longer, while the machine was [awake](young.md), does not count as a person who looks"
#   why: |-
#     tmux counts no key of a control client, since what its user types comes as commands. So one counts as used when something came
#     to its terminal, or when its session last showed something: what only watches stops keeping a session once that has been still
#     for `attached_idle`.
#
#     Attachment by itself is no veto: with it, 54 of 54 sessions were attached, nothing was ever reaped, and the machine ran out of
#     memory (eneskirca/nodeterm#109). Detachment is no proof either. Killing one of a group of sessions frees nothing and takes the
#     windows from whoever looks at them through another. Closing herdr's focused tab moves the focus, and the next key goes somewhere
#     else.
#   example: |-
#     Attached, last key ten seconds ago: spared. Attached since yesterday, last key five hours ago: not kept by this rule.
package policies.protect.attached

import data.policies.lib.tabs
import data.policies.lib.words

# METADATA
# title: A client shows it
# description: A client is attached and was used lately, or whether one is could not be read.
objections contains {
	"rule": "protect.attached",
	"message": words.said(_watched, "whether a client is attached and in use is not known"),
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
	not _unfocused
}

_unfocused if input.tab.focused == false

_unfocused if tabs.drawn

_unwatched if input.session.attached == 0

_unwatched if {
	input.session.attached > 0
	input.client_idle >= input.config.attached_idle
}

_watched contains $"a client is attached and was used {words.span(input.client_idle)} ago; at least {words.span(input.config.attached_idle)} is required" if {
	input.client_idle < input.config.attached_idle
}

_focused contains "it is the focused tab" if input.tab.focused == true

_shown contains "another session shows one of its windows" if _linked

_shown contains $"it is one of a group of {input.session.group_size} sessions, which show the same windows" if _grouped

_alone if {
	_ungrouped
	every pane in input.session.panes {
		count(pane.linked) == 0
	}
}

_linked if {
	some pane in input.session.panes
	pane.linked[0]
}

_ungrouped if {
	input.session.group == ""
	input.session.group_size == 0
}

_ungrouped if input.session.group_size == 1

_grouped if input.session.group_size > 1

_facts contains {"attached": input.session.attached}

_facts contains {"client_idle": input.client_idle}
