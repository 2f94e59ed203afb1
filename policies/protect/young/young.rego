# METADATA
# title: Young
# description: |-
#   Keeps what is young.
#
#   Everything younger than the grace of its kind, everything of unknown age, and everything from the future.
#
#   Ages and idle times, here and in every other rule, count only while the machine was awake. Looks tell when it was not: between
#   two of them the time suspended grew, or the wall clock went further than the machine's count; or there was a boot. When in
#   between it slept is not known, so of what is from that time all the sleep counts as later. At a first look all suspension since
#   the boot counts as later, for the kernel says how much there was and not when; of the time before that boot nothing is known,
#   and nothing left out. Between the last look before a boot and the boot the machine counts as off, for three days at most: a long
#   weekend.
#
#   So the waits that are counted in minutes begin again after a night, and `landed_after` of a day takes about three days of work on
#   a machine that sleeps at night, and one on a server. Orders, such as whether a session was made before its owner ended, go by
#   the wall clock.
# custom:
#   kinds: dir, session, terminal, process
#   parameters:
#     rules.grace.dir: "since a folder's last own change"
#     rules.grace.session: "since a session was made"
#     rules.grace.process: "since a process was started"
#     rules.grace.terminal: "since a terminal's process was started; where it has none any more, since its Tower has it"
#   why: |-
#     What has just begun looks like what has ended: a worktree without a commit, a session at its first prompt, a process whose parent
#     is about to take it on.
#   example: |-
#     A worktree that was changed 14 minutes ago: spared. One that was made a minute before the lid was closed for the night: spared
#     until a quarter of an hour after it was opened. With `0s` there is no grace.
package policies.protect.young

import data.policies.lib.terminals
import data.policies.lib.words

# METADATA
# title: It is younger than its grace
# description: Its age is less than the configured grace of its kind, or is not known.
objections contains {
	"rule": "protect.young",
	"message": _message,
	"evidence": words.known(_facts),
} if {
	input.kind != "tab"
	not _grown
}

# How a thing of each kind begins. A tab has no age.
_began := {
	"dir": "it changed",
	"process": "it was started",
	"session": "it was made",
	"terminal": "it was opened",
}

_grown if {
	input.kind != "terminal"
	_of_age
}

# Since when its Tower has it says nothing of a process that began at an unknown time.
_grown if {
	input.kind == "terminal"
	input.terminal.started_at != ""
	_of_age
}

_grown if {
	input.kind == "terminal"
	terminals.ended
	_of_age
}

_of_age if input.age >= input.config.grace[input.kind]

_message := $"{_began[input.kind]} in the future, by the clock" if {
	input.age < 0
} else := $"{_began[input.kind]} {words.span(input.age)} ago; at least {words.span(_grace)} is required" if {
	input.age < _grace
} else := $"when {_began[input.kind]} is not known"

_grace := input.config.grace[input.kind]

_facts contains {"age": input.age}

_facts contains {"grace": _grace}
