# METADATA
# title: Young
# description: >-
#   Keeps what is young: a folder since its last own change, a session and a process since their start, a terminal since the start of
#   its process. What has just begun looks like what is over.
package policies.protect.young

import data.policies.lib.terminals
import data.policies.lib.words

# METADATA
# title: It is younger than its grace
# description: Its age is less than the configured grace of its kind, or is not known.
objections contains {
	"rule": "protect.young",
	"message": words.said(_reasons, $"when {_began[input.kind]} is not known"),
	"evidence": words.known(_facts),
} if {
	_began[input.kind]
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
	input.terminal.started_at != ""
	_of_age
}

_grown if {
	terminals.ended
	_of_age
}

_of_age if input.age >= input.config.grace[input.kind]

_reasons contains $"{_began[input.kind]} {words.span(input.age)} ago; at least {words.span(input.config.grace[input.kind])} is asked" if {
	input.age >= 0
	input.age < input.config.grace[input.kind]
}

_reasons contains $"{_began[input.kind]} in the future, by the clock" if input.age < 0

_facts contains {"age": input.age}

_facts contains {"grace": input.config.grace[input.kind]}
