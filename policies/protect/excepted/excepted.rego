# METADATA
# title: Excepted
# description: Keeps what an exception of the policies keeps.
# custom:
#   kinds: all
#   summary: {rank: 30, group: excepted by the policies}
package policies.protect.excepted

import data.policies.lib.keeps
import data.policies.lib.reasons

# METADATA
# title: An exception keeps it
# description: An exception of the policies that has not passed matches the candidate, or may, for want of a fact.
objections contains {"message": _message(i), "evidence": {k: v | some k, v in exception}} if {
	some i, exception in input.exceptions
	not i in _silent
}

# METADATA
# title: Whether an exception keeps it is not known
# description: The input does not say which exceptions match the candidate.
objections contains {"message": "whether an exception keeps it is not known", "evidence": {}} if not _known
_known if is_array(input.exceptions)

_silent contains i if {
	some i, exception in input.exceptions
	exception.left <= 0
}

# It asks for all findings, so it stands behind what costs less.
_silent contains i if {
	some i, exception in input.exceptions
	keeps.for_other_rules(exception.rules)
}

_message(i) := $"excepted by {_who(i)}{_until(i)}{_place(i)}: {_why(i)}" if {
	input.exceptions[i].unknown == []
} else := $"it may be what {_who(i)} excepts{_until(i)}{_place(i)}{_since(i)}: {_why(i)}"

_since(i) := reasons.or_default({$", since its {_unread(i)} is not known" | _unread(i) != ""}, "")
_unread(i) := concat(", ", input.exceptions[i].unknown)
_who(i) := reasons.or_default({who | who := input.exceptions[i].who}, "somebody who is not known")
_why(i) := reasons.or_default({why | why := input.exceptions[i].why}, "no reason given")

_until(i) := ", without an end" if {
	input.exceptions[i].until == "never"
} else := $" until {reasons.or_default({until | until := input.exceptions[i].until}, "a time that is not known")}"

_place(i) := reasons.or_default({$" ({input.exceptions[i].file}{_line(i)})" | input.exceptions[i].file != ""}, "")
_line(i) := reasons.or_default({$":{input.exceptions[i].line}" | input.exceptions[i].line > 0}, "")
