# METADATA
# title: Attached
# description: Keeps what a person may be looking at.
# custom:
#   kinds: session, tab
#   summary: {rank: 50, group: shown to a person}
#   parameters: [rules.attached_idle, rules.session_names]
package policies.protect.attached

import data.policies.lib.reasons
import data.policies.lib.sessions
import data.policies.lib.tabs

# METADATA
# title: A client shows it
# description: A client is attached that shows it on a terminal or was used lately, or whether one is could not be read.
objections contains reasons.keep(_watched, "whether a client shows it is not known", _facts) if {
	input.kind == "session"
	not _no_client
}

# METADATA
# title: A client was attached to it
# description: A client was attached to it, or may have been, and nothing says that it is no person's session.
objections contains reasons.keep(_claimed, "whether a client was ever attached to it is not known", _claims) if {
	input.kind == "session"
	not sessions.unclaimed
}

# METADATA
# title: Another session shows its panes
# description: The session is one of a group, or a window of it is linked into another session.
objections contains reasons.keep(_shown, "whether it is one of a group of sessions is not known", _others) if {
	input.kind == "session"
	not _alone
}

# METADATA
# title: It has the focus
# description: The tab is the focused one, or whether it is could not be read.
objections contains reasons.keep(_focused, "whether it is the focused tab is not known", {}) if {
	input.kind == "tab"
	not _unfocused
}

_unfocused if input.tab.focused == false
_unfocused if tabs.drawn
_no_client if input.session.attached == 0

# Programs that show it to no person.
_no_client if {
	input.session.attached == input.session.program_clients
	input.client_idle >= input.config.attached_idle
}

_watched contains "a client shows it" if input.session.attached > input.session.program_clients

_watched contains $"a program is attached and was used {ago}" if {
	input.session.attached == input.session.program_clients
	input.client_idle < input.config.attached_idle
	ago := reasons.too_short(input.client_idle, input.config.attached_idle)
}

_claimed contains $"a client was attached to it, so it is a person's: {_release}" if input.session.ever_attached == true
_release := "put its name into rules.session_names if it may go"
_claims contains {"ever_attached": input.session.ever_attached}
_claims contains {"used": input.used}
_focused contains "it is the focused tab" if input.tab.focused == true

_shown contains $"it is one of a group of {size} sessions, which show the same windows" if {
	size := input.session.group_size
	size > 1
}

_shown contains "another session shows one of its windows" if {
	some pane in input.session.panes
	pane.linked[0]
}

_others contains {"sessions": {other | some pane in input.session.panes; some other in pane.linked}}

_alone if {
	_ungrouped
	every pane in input.session.panes { count(pane.linked) == 0 }
}

_ungrouped if [input.session.group, input.session.group_size] == ["", 0]

_ungrouped if input.session.group_size == 1
_facts contains {"attached": input.session.attached}
_facts contains {"client_idle": input.client_idle}
