# METADATA
# title: Words
# description: How reasons are put together from what is known, so that a missing fact leaves the others complete.
package policies.lib.words

# METADATA
# scope: document
# title: What is said
# description: The reasons in one line, or, without a reason, what is unknown.
said(reasons, unknown) := unknown if count(reasons) == 0

said(reasons, _) := concat("; ", reasons) if count(reasons) > 0

# METADATA
# title: What is known
# description: >-
#   One object out of a set of objects with one key each. Write the set with a line a fact, `_facts contains {"age": input.age}`: the line
#   of a fact that is missing adds nothing, where one object with all of them would be undefined as a whole.
known(facts) := {name: fact[name] | some fact in facts; some name, _ in fact}

# METADATA
# scope: document
# title: A span of time
# description: Seconds as a person reads them, such as 4 min 12 s or 1 h 5 min.
span(seconds) := concat(" ", _parts(time.diff(time.parse_duration_ns($"{floor(seconds)}s"), 0))) if seconds >= 1

span(seconds) := "0 s" if seconds < 1

# Seconds are left out beside an hour or more.
_parts(amounts) := [$"{amount} {unit}" |
	some place, unit in ["y", "mo", "d", "h", "min", "s"]
	amount := amounts[place]
	amount > 0
	not _too_fine(unit, amounts)
]

_too_fine("s", [years, months, days, hours, _, _]) if max([years, months, days, hours]) > 0
