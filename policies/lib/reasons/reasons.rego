# METADATA
# title: Reasons
# description: How reasons are put together from what is known, so that a missing fact leaves the others complete.
package policies.lib.reasons

# All reasons in one line, or a text where there are none.
or_default(known, text) := first([known], text)

# The reasons of the first set that has any, in one line, or a text where none has.
first(sets, text) := array.concat([concat("; ", known) | some known in sets; count(known) > 0], [text])[0]

# A reason to keep: what is known of it in one line, or a text where nothing is, with a set of facts for evidence.
keep(known, text, facts) := keep_first([known], text, facts)

# The same of the first set of reasons that has any.
keep_first(sets, text, facts) := {"message": first(sets, text), "evidence": evidence(facts)}

# How long ago something was that is required to be longer ago.
too_short(ago, required) := $"{span(ago)} ago; it waits for {span(required)}"

# One object out of a set of objects: a line a fact, and a missing one adds nothing (_facts contains {"age": age}).
evidence(facts) := {name: value | some name, value in facts[_]}

# Seconds as a person reads them, in at most two units, rounded down: 4m12s, 2h5m, 6d. As internal/text.Span.
span(seconds) := _span(max([floor(seconds), 0]))

# What cannot be counted in nanoseconds, which ends at 292 years, has its days alone.
_span(seconds) := $"{floor(seconds / _in("24h"))}d" if {
	seconds >= _in("2500000h")
} else := _two(floor(seconds / _in("24h")), "d", _clock(seconds).h, "h") if {
	seconds >= _in("24h")
} else := _two(_clock(seconds).h, "h", _clock(seconds).m, "m") if {
	seconds >= _in("1h")
} else := _two(_clock(seconds).m, "m", _clock(seconds).s, "s") if {
	seconds >= _in("1m")
} else := $"{seconds}s"

# How many seconds a length of time has.
_in(length) := time.parse_duration_ns(length) / time.parse_duration_ns("1s")

# Hours, minutes and seconds beside whole days.
_clock(seconds) := {"h": hours, "m": minutes, "s": rest} if {
	[_, _, _, hours, minutes, rest] := time.diff(time.parse_duration_ns($"{seconds}s"), 0)
}

_two(amount, unit, 0, _) := $"{amount}{unit}"
_two(amount, unit, rest, below) := $"{amount}{unit}{rest}{below}" if rest > 0

# The part of a commit's name that a person reads, and that git takes for the whole.
commit(oid) := substring(oid, 0, count("1a2b3c4d5e"))

# A branch without refs/remotes/ or refs/heads/ before it, as git takes it too.
branch(ref) := trim_prefix(trim_prefix(ref, "refs/remotes/"), "refs/heads/")

# A text that is safe to paste into a shell, in quotes where it holds more than plain letters.
shell(word) := word if {
	regex.match(`^[A-Za-z0-9@%+=:,./_~-]+$`, word)
} else := concat("", ["'", replace(word, "'", `'\''`), "'"])
