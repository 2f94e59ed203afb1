# METADATA
# title: What became of a worker
# description: >-
#   One word for what became of a worker that a registry records, or of a session that none records, with the sentence
#   and the next step for a person. The worker's own record is the first of input.entries, the other records of the
#   same session follow; input.session is the one session that bears the recorded name. It lets nothing go. What it
#   takes to say so and is missing makes it unknown.
package policies.observe.worker

import data.policies.lib.panes
import data.policies.lib.registry
import data.policies.lib.sessions

# The word, why, and what to run next. Undefined for a session that is not in scope.
observed := _recorded if _own

observed := _unrecorded if {
	not _own
	sessions.named
}

# The word and the sentence with which cleanup refuses. Defined for every observation but safe_to_close.
cleanup := _no("retained", $"{_worker} is retained, and has to be released first: {observed.why}", _release) if {
	_over
	_kept
} else := _no("unreadable", $"how {_worker} ended is not known: {observed.why}", {}) if {
	observed.then.unread
} else := _no("stale", $"{_worker} and what runs contradict each other: {observed.why}", {}) if {
	observed.observation == "stale"
} else := _no("not_terminal", $"{_worker} has not ended: {observed.why}", {}) if {
	not _over
} else := _no("no_session", $"no session is recorded of {_worker}", {}) if {
	not _own.session
} else := _no("closed", $"the session {_own.session} of {_worker} is closed already", {}) if {
	observed.observation == "closed"
} else := _no("ambiguous", $"which session is that of {_worker} is not known: {observed.why}", {}) if {
	_several
} else := _no("unknown", $"how {_worker} ended is not known: {observed.why}", {}) if {
	observed.observation != "safe_to_close"
}

# With what retain refuses: only the session of a worker that is over is held, while it is recorded and lives.
retain := _no("not_terminal", $"{_worker} has not ended: its registry says {_status("nothing of its status")}", {}) if {
	not _over
} else := _no("no_session", $"no session is recorded of {_worker}", {}) if {
	not _own.session
} else := _no("unreadable", $"whether the session of {_worker} lives is not known: {observed.why}", {}) if {
	observed.then.unread
} else := _no("not_live", $"the session of {_worker} does not live: {observed.why}", {}) if {
	not _alive
} else := _no("not_live", $"the session of {_worker} does not live: {observed.why}", {}) if {
	observed.then.another
} else := _no("ambiguous", $"which session is that of {_worker} is not known: {observed.why}", {}) if {
	_several
}

_recorded := _unread($"{_own.source} could not be read whole, so what it says of it may not be all") if {
	not input.worker.registry_read
} else := _unread($"{input.worker.unread_tmux} could not be read, so where its session lives is not known") if {
	not input.worker.unread_tmux == ""
} else := _unread("tmux is not read (collect.tmux.sockets is empty), so whether its session lives is not known") if {
	not input.worker.tmux_read
} else := _is("unknown", "its registry does not say whether it has ended", "report") if {
	not _said
} else := _is("unknown", "its registry records no session of it, so whether one lives is not known", "report") if {
	not _own.session
} else := _is("unknown", _same_name, "sessions") if {
	_several
} else := _then("closed", _closed_retained, _let_go(0)) if {
	not _alive
	_over
	_own.retained
} else := _is("closed", "it has ended and its session is closed", "history") if {
	not _alive
	_over
} else := _is("stale", $"{_unfinished}, and no session {_own.session} lives", "report") if {
	not _alive
} else := _living_on if {
	_over
} else := _is("stale", $"{_unfinished} and that it ended", "explain") if {
	_own.ended
} else := _is("stale", $"{_unfinished}, and nothing runs in its session but idle shells", "explain") if {
	input.age >= input.config.grace.session
	panes.quiet_here
} else := _is("active", "it has not ended and its session lives", "attach")

# The worker is over and its session, or one of that name, lives.
_living_on := _is("unknown", _made_unread, "explain") if {
	_own.ended
	not input.made
} else := _then("stale", _made_later, {"next": "explain", "another": true}) if {
	input.made < _own.ended
} else := _is("stale", _shared, "explain") if {
	count(_working) > 0
} else := _then("retained", _held_retained, _let_go(_keepers[0])) if {
	input.hold
	count(_keepers) > 0
} else := _then("retained", "it has ended, and a registry marks its session as retained", _let_go(_keepers[0])) if {
	count(_keepers) > 0
} else := _is("retained", "it has ended, and its session is held", "release") if {
	input.hold
} else := _unread($"{_registry_unread} somebody else owns its session is not known") if {
	not input.worker.unread_registry == ""
} else := _unread("which holds there are could not be read, so whether its session is kept is not known") if {
	not input.worker.holds_read
} else := _is("safe_to_close", "it has ended, and its session lives and nobody keeps it", "cleanup") if {
	input.session.attached == 0
} else := _is("safe_to_close", _attached, "explain")

_unrecorded := _unread($"{_registry_unread} it records this session is not known") if {
	not input.worker.unread_registry == ""
} else := _is("unregistered", "no registry records this session", "explain")

_own := input.entries[0]
_over if 0 in registry.over
_alive if count(input.worker.live) > 0
_several if count(input.worker.live) > 1

# Sentences that are too long for their places.
_same_name := $"several sessions are called {_own.session}, and {_which}: {concat(", ", input.worker.live)}"
_which := "which of them is its own is not known"
_unfinished := $"its registry says {_status("that it has not ended")}"
_registry_unread := $"{input.worker.unread_registry} could not be read, so whether"
_closed_retained := "it has ended and its session is closed, though its registry still marks it as retained"
_held_retained := "it has ended, and its session is held and marked as retained by a registry"
_made_unread := "when its session was made could not be read, so whether it is another one of that name is not known"
_made_later := "it has ended, and the session of that name was made after it ended: it is another one"
_shared := $"it has ended, and {_working[0].id} in {_working[0].source}, which is not, records the same session"
_attached := "it has ended, and nobody keeps its session, but somebody is attached to it, or may be"

# Kapi's and the other formats of over_statuses say by their status what became of an owner, and by nothing else.
_said if _own.status

_said if {
	is_boolean(_own.terminal)
	not input.worker.format in {words.format | some words in input.config.over_statuses}
}

_status(missing) := missing if not _own.status
_status(_) := _own.status

# The other records of the session whose owner is not over, and the places of those that are marked as retained.
_working := [entry |
	some place, entry in input.entries
	place > 0
	not place in registry.over
]

_keepers := [place |
	some place, entry in input.entries
	entry.retained
]

_kept if _own.retained
_kept if input.hold
_kept if observed.observation == "retained"

# A hold is Winnow's own to release, and comes first. Nothing here says that the next step is the observation's.
default _release := {}

_release := _let_go(0) if {
	_own.retained
	not input.hold
}

_let_go(place) := {"next": "let_go", "keeper": place}
_worker := $"worker {_own.id} of {_own.source}"
_unread(why) := _then("unknown", why, {"next": "doctor", "unread": true})
_is(observation, why, next) := _then(observation, why, {"next": next})
_then(observation, why, then) := {"observation": observation, "why": why, "then": then}
_no(reason, message, then) := {"reason": reason, "message": message, "then": then}
