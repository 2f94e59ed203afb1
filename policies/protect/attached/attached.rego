# METADATA
# title: Attached
# description: |-
#   Keeps what a person may be looking at.
#
#   A session with an attached client, as long as one is attached, or whose clients could not be read. A program that speaks tmux's control
#   mode on a terminal (iTerm2) is a client as any other; one without a terminal shows the session to nobody, and counts when it was used
#   less than `attached_idle` ago. And a session whose panes another session shows too, as one of a group or through a linked window.
#
#   A session that a client was ever attached to (`session_last_attached`, also the client that made it): it is a person's, whatever ran in
#   it. Two kinds may go all the same: a session whose name is in `session_names`; and one that a registry entry means, when its owner has
#   ended, the session was not made before that owner began, and no client was attached to it or used at a time after that end, or when its
#   owner has ended and a person asks for it by name (`winnow cleanup`).
#
#   A herdr tab that has the focus, or of which that is not known. A terminal tab
#   of an editor with a process, while it is the active one of the window that has the focus; a tab that an extension draws is not
#   kept by it, because its text is the extension's.
# custom:
#   kinds: session, tab
#   parameters:
#     rules.attached_idle: "a client without a terminal that has not been used for longer, while the machine was [awake](young.md), does not count"
#     rules.session_names: "sessions that may go although clients were attached to them"
#   why: |-
#     People begin a session in a worktree, have an agent work in it, and go to lunch. The terminal still shows it, or they detached, and
#     a line that they have half typed stands in it. That an agent ran there makes it no agent's.
#
#     tmux counts no key of a control client, since what its user types comes as commands. So one counts as used when something came
#     to its terminal, or when its session last showed something: what only watches, without a terminal, stops keeping a session once that
#     has been still for `attached_idle`. A program that keeps 54 of 54 sessions attached (eneskirca/nodeterm#109) does it in that way, or
#     its sessions' names belong into `session_names`, and their clients have to be detached. Detachment is no proof either. Killing one of a group of sessions frees nothing and takes the
#     windows from whoever looks at them through another. Closing herdr's focused tab moves the focus, and the next key goes somewhere
#     else.
#   example: |-
#     Attached since yesterday, last key five hours ago: spared. `tmux new -s feature`, in which `claude` ran, detached an hour ago: spared.
#     The same made with `tmux new-session -d` by an agent, and never attached: not kept by this rule.
package policies.protect.attached

import data.policies.lib.sessions
import data.policies.lib.tabs
import data.policies.lib.words

# METADATA
# title: A client shows it
# description: A client is attached that shows it on a terminal or was used lately, or whether one is could not be read.
objections contains {
	"rule": "protect.attached",
	"message": words.said(_watched, "whether a client shows it is not known"),
	"evidence": words.known(_facts),
} if {
	input.kind == "session"
	not _unwatched
}

# METADATA
# title: A client was attached to it
# description: A client was attached to it at some time, and nothing says that it is not a person's session all the same; or whether one was is not known.
objections contains {
	"rule": "protect.attached",
	"message": words.said(_claimed, "whether a client was ever attached to it is not known"),
	"evidence": words.known(_claims),
} if {
	input.kind == "session"
	not sessions.unclaimed
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

# Programs that show it to nobody.
_unwatched if {
	input.session.attached == input.session.program_clients
	input.client_idle >= input.config.attached_idle
}

_watched contains "a client shows it" if input.session.attached > input.session.program_clients

_watched contains $"a program is attached and was used {words.span(input.client_idle)} ago; at least {words.span(input.config.attached_idle)} is required" if {
	input.session.attached == input.session.program_clients
	input.client_idle < input.config.attached_idle
}

_claimed contains "a client was attached to it, so it is a person's: put its name into rules.session_names if it may go" if {
	input.session.ever_attached == true
}

_claims contains {"ever_attached": input.session.ever_attached}

_claims contains {"used": input.used}

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
