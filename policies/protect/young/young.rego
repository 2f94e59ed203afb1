# METADATA
# title: Young
# description: Keeps what is young.
# custom:
#   kinds: dir, session, terminal, process
#   summary: {rank: 210, group: young, passes: true}
#   needs: [age]
#   parameters: [rules.grace.dir, rules.grace.session, rules.grace.process, rules.grace.terminal]
package policies.protect.young

import data.policies.lib.reasons
import data.policies.lib.terminals

objections contains {"message": _message, "evidence": reasons.evidence(_facts)} if {
	input.kind != "tab"
	not _grown
}

# How a thing of each kind begins. A tab has no age.
_began := {"dir": "it changed", "process": "it was started", "session": "it was made", "terminal": "it was opened"}

_grown if {
	input.age >= _grace
	_dated
}

_dated if input.kind != "terminal"

# Since when its Tower has it says nothing of a process that began at an unknown time.
_dated if input.terminal.started_at != ""
_dated if terminals.ended

_message := $"{_began[input.kind]} in the future, by the clock" if {
	input.age < 0
} else := $"{_began[input.kind]} {reasons.span(input.age)} ago; it waits for {reasons.span(_grace)}" if {
	input.age < _grace
} else := $"when {_began[input.kind]} is not known"

_grace := input.config.grace[input.kind]
_facts contains {"age": input.age}
_facts contains {"grace": _grace}
