# METADATA
# title: Shells
# description: For how long the shells of a session, a tab or a terminal did nothing, and whether one woke by itself.
package policies.lib.shells

import data.policies.lib.reasons

# Of the first processes of the panes and of what lives in a terminal, all that is not known to be another program.
present contains shell if {
	some shell in _members
	not shell in _programs
}

_members contains member if {
	some pane in _panes
	some member in pane.session
	member.pid == pane.shell_pid
}

_members contains member if some member in input.terminal.below
_panes := input.session.panes
_panes := input.tab.panes

_programs contains member if {
	count(input.config.shells) >= 0
	some member in _members
	member.name != ""
	not member.name in input.config.shells
}

# For how many seconds none of the shells has run. Of one shell unknown, it is unknown of all.
rested := min(known) if {
	known := [shell.rest.seconds | some shell in present]
	count(known) == count(present)
}

# The shells that rest. One that woke by itself may wait for more than a person, as with TMOUT of zsh.
resting contains shell if {
	some shell in present
	shell.rest.seconds >= 0
	shell.rest.woke == false
}

resting contains shell if {
	some shell in present
	shell.rest.seconds >= input.config.session_idle
}

# True when every one of the shells rests.
all_rest if count(resting) == count(present)

# What keeps shells from resting, in words.
restless contains $"its shell {shell.name} ({shell.pid}) ran {ago} ago by itself, {_wait}; {_end}" if {
	some shell in present
	shell.rest.woke == true
	shell.rest.seconds < input.config.session_idle
	ago := reasons.span(shell.rest.seconds)
}

restless contains $"whether its shell {shell.name} ({shell.pid}) ran by itself, {_unknown}; {_end}" if {
	some shell in present
	shell.name in input.config.shells
	not shell in _known
	not shell in resting
}

_wait := $"so it may wait for more than a person; it must not have run for {reasons.span(input.config.session_idle)}"
_unknown := "and may wait for more than a person, is not known"
_end := "end it yourself when it is no longer wanted"

_known contains shell if {
	some shell in present
	shell.rest.seconds >= 0
	is_boolean(shell.rest.woke)
}
