package policies.protect.excepted_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.excepted

_says := {
	"match": {"label": "feature"}, "why": "demo", "who": "ann", "until": "2026-12-01", "left": 60, "rules": [],
	"file": "exceptions.yaml", "line": 2, "tree": "mine", "unknown": [],
}

_with(subject, facts) := subjects.changed(subject, "/exceptions", [object.union(_says, facts)])

_every := {subjects.dir, subjects.session, subjects.finished, subjects.tab, subjects.terminal, subjects.process}

_kept := ["excepted by ann until 2026-12-01 (exceptions.yaml:2): demo"]

test_without_an_exception_nothing_is_kept if {
	every subject in _every {
		count(excepted.objections) == 0 with input as subject
	}
}

test_an_exception_keeps_and_says_who_and_why if {
	every subject in _every {
		subjects.reasons(excepted.objections) == _kept with input as _with(subject, {})
	}
}

test_one_that_has_passed_lets_go if {
	every left in [0, -1, -86400] {
		count(excepted.objections) == 0 with input as _with(subjects.dir, {"left": left})
	}
}

test_one_without_an_end_keeps if {
	endless := subjects.without(_with(subjects.dir, {"until": "never"}), ["/exceptions/0/left"])
	subjects.reasons(excepted.objections) == ["excepted by ann, without an end (exceptions.yaml:2): demo"] with input as endless
}

test_one_of_which_it_is_not_known_whether_it_has_passed_keeps if {
	subjects.reasons(excepted.objections) == _kept with input as subjects.without(_with(subjects.dir, {}), ["/exceptions/0/left"])
}

test_one_of_several_is_enough if {
	subjects.reasons(excepted.objections) == _kept with input as subjects.changed(subjects.dir, "/exceptions", [object.union(_says, {"left": -1}), _says])
}

test_one_against_the_rule_that_found_a_reason_keeps if {
	subjects.reasons(excepted.objections) == _kept with input as _with(subjects.dir, {"rules": ["reap.dirs.landed"]})
	subjects.reasons(excepted.objections) == _kept with input as _with(subjects.finished, {"rules": ["reap.sessions.finished", "reap.sessions.idle_shell"]})
}

test_one_against_other_rules_lets_go if {
	count(excepted.objections) == 0 with input as _with(subjects.dir, {"rules": ["reap.dirs.disposable"]})
	count(excepted.objections) == 0 with input as _with(subjects.finished, {"rules": ["reap.sessions.idle_shell"]})
}

test_one_against_a_rule_is_silent_where_nothing_was_found if {
	nothing := subjects.changed(_with(subjects.dir, {"rules": ["reap.dirs.landed"]}), "/dir/git/landed", false)
	count(excepted.objections) == 0 with input as nothing
}

test_what_cannot_be_compared_stays if {
	some objection in excepted.objections with input as _with(subjects.dir, {"unknown": ["path", "owner"]})
	objection.message == "it may be what ann excepts until 2026-12-01 (exceptions.yaml:2), since its path, owner is not known: demo"
}

test_whatever_is_not_known_of_an_exception_it_keeps if {
	every field in object.keys(_says) {
		count(excepted.objections) == 1 with input as subjects.without(_with(subjects.dir, {}), [$"/exceptions/0/{field}"])
		count(excepted.objections) == 1 with input as subjects.without(_with(subjects.dir, {"rules": ["reap.dirs.landed"]}), [$"/exceptions/0/{field}"])
	}
	some objection in excepted.objections with input as subjects.changed(subjects.dir, "/exceptions", [{}])
	objection.message == "it may be what somebody who is not known excepts until a time that is not known: no reason given"
}

test_without_exceptions_being_known_everything_stays if {
	every subject in _every {
		subjects.reasons(excepted.objections) == ["whether an exception keeps it is not known"] with input as subjects.without(subject, ["/exceptions"])
	}
}

test_one_of_a_bundle_says_no_line if {
	subjects.reasons(excepted.objections) == ["excepted by ann until 2026-12-01 (bundle:acme/exceptions.yaml): demo"] with input as _with(subjects.dir, {"file": "bundle:acme/exceptions.yaml", "line": 0})
}

test_the_evidence_says_what_it_is if {
	some objection in excepted.objections with input as _with(subjects.dir, {})
	objection.evidence == {key: value | some key, value in _says}
}
