# METADATA
# title: Words
# description: How reasons are put together from what is known, so that a missing fact leaves the others complete.
package policies.lib.words

# METADATA
# title: What is said
# description: The reasons in one line, or, without a reason, what is unknown.
said(reasons, unknown) := concat("; ", reasons) if {
	count(reasons) > 0
} else := unknown

# METADATA
# title: What is known
# description: >-
#   One object out of a set of objects that share no key. Write the set with a line a fact, `_facts contains {"age": input.age}`: the line
#   of a fact that is missing adds nothing, where one object with all of them would be undefined as a whole.
known(facts) := {name: value | some name, value in facts[_]}

# METADATA
# title: A span of time
# description: Seconds as a person reads them, such as 4 min 12 s or 1 h 5 min.
span(seconds) := trim_suffix(trim_prefix(sprintf("%d min %d s", [minutes, rest]), "0 min "), " 0 s") if {
	seconds >= 1
	[0, 0, 0, 0, minutes, rest] = time.diff(time.parse_duration_ns(sprintf("%ds", [floor(seconds)])), 0)
} else := "0 s" if {
	seconds < 1
} else := concat(" ", [$"{amount} {unit}" |
	amounts := time.diff(time.parse_duration_ns(sprintf("%ds", [floor(seconds)])), 0)
	some place, unit in ["y", "mo", "d", "h", "min"]
	amount := amounts[place]
	amount > 0
])

# METADATA
# title: A commit
# description: The part of a commit's name that a person reads, and that git takes for the whole.
commit(oid) := substring(oid, 0, count("1a2b3c4d5e"))

# METADATA
# title: A word of a command
# description: A text that is safe to paste into a shell, in quotes where it holds more than plain letters.
shell(word) := word if {
	regex.match(`^[A-Za-z0-9@%+=:,./_~-]+$`, word)
} else := concat("", ["'", replace(word, "'", `'\''`), "'"])
