package policies.lib.levels_test

import data.policies.lib.levels
import data.policies.lib.subjects_test as subjects
import data.policies.main

_at(subject, rule, level) := subjects.changed(subject, "/config/levels", [{"rule": rule, "kind": subject.kind, "level": level}])

_asked(subject) := subjects.changed(subject, "/asked", {"by": "user", "uid": 1000, "mine": false})

test_a_rule_that_is_off_says_nothing if {
	decision := main.decision with input as _at(subjects.dir, "reap.dirs.landed", "off")
	decision == {"verdict": "spare", "findings": [], "objections": [], "in_scope": true}
	not levels.level with input as _at(subjects.dir, "reap.dirs.landed", "off")
}

test_a_rule_that_observes_is_told_and_reaps_nothing if {
	decision := main.decision with input as _asked(_at(subjects.dir, "reap.dirs.landed", "observe"))
	decision.verdict == "spare"
	decision.level == "observe"
	[finding.level | some finding in decision.findings] == ["observe"]
}

test_a_rule_that_asks_reaps_what_was_asked_for if {
	left := main.decision with input as _at(subjects.dir, "reap.dirs.landed", "ask")
	left.verdict == "spare"
	left.level == "ask"
	done := main.decision with input as _asked(_at(subjects.dir, "reap.dirs.landed", "ask"))
	done.verdict == "reap"
	not done.level
}

test_a_word_that_is_missing_reaps_nothing if {
	entry := {"rule": "reap.dirs.landed", "kind": "dir"}
	decision := main.decision with input as subjects.changed(subjects.dir, "/config/levels", [entry])
	decision.level == "observe"
}

test_a_word_that_is_not_known_reaps_nothing if {
	decision := main.decision with input as _at(subjects.dir, "reap.dirs.landed", "loud")
	decision.verdict == "spare"
	decision.level == "observe"
}

test_a_level_of_another_kind_or_rule_changes_nothing if {
	every entry in [
		{"rule": "reap.dirs.landed", "kind": "process", "level": "off"},
		{"rule": "reap.dirs.owner_ended", "kind": "dir", "level": "off"},
	] {
		decision := main.decision with input as subjects.changed(subjects.dir, "/config/levels", [entry])
		decision.verdict == "reap"
	}
}

test_without_the_levels_everything_stays if {
	every garbage in [null, {}, "off", 3] {
		decision := main.decision with input as subjects.changed(subjects.dir, "/config/levels", garbage)
		decision.verdict == "spare"
	}
	decision := main.decision with input as subjects.without(subjects.dir, ["/config/levels"])
	decision.verdict == "spare"
	[objection.rule | some objection in decision.objections] == ["protect.unknown"]
}

test_a_level_that_says_too_little_reaps_no_more if {
	every entry in [{}, {"kind": "dir", "level": "off"}, {"rule": "protect.held", "level": "off"}, {"rule": "protect.held", "kind": "dir"}] {
		held := subjects.changed(subjects.dir, "/hold", {"owner": "ann"})
		decision := main.decision with input as subjects.changed(held, "/config/levels", [entry])
		decision.verdict == "spare"
	}
}

test_the_highest_level_counts if {
	both := json.patch(subjects.runaway, [
		{"op": "add", "path": "/process/ppid", "value": 1},
		{"op": "add", "path": "/config/levels", "value": [{"rule": "reap.processes.runaway", "kind": "process", "level": "observe"}]},
	])
	levels.counting == {"reap.processes.orphan"} with input as both
}
