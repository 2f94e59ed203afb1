package policies.protect.project_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.project

_says := {"path": "/w/acme", "file": "/w/acme/.winnow/config.yaml", "keeps": [], "off": []}

_glob := {"match": {"path": "feature"}, "rules": [], "unknown": [], "line": 3}

_with(subject, facts) := subjects.changed(subject, "/projects", [object.union(_says, facts)])

_every := {subjects.dir, subjects.session, subjects.finished, subjects.tab, subjects.terminal, subjects.process}

test_without_a_project_nothing_is_kept if {
	every subject in _every {
		count(project.objections) == 0 with input as subject
	}
}

test_a_project_that_says_nothing_keeps_nothing if {
	every subject in _every {
		count(project.objections) == 0 with input as _with(subject, {})
	}
}

test_an_entry_keeps if {
	every subject in _every {
		subjects.reasons(project.objections) == ["its project keeps it: /w/acme"] with input as _with(subject, {"keeps": [_glob]})
	}
}

test_an_entry_says_why_and_where_it_stands if {
	some objection in project.objections with input as _with(subjects.dir, {"keeps": [object.union(_glob, {"why": "demo"})]})
	objection.message == "its project keeps it: /w/acme: demo"
	objection.evidence == object.union(_glob, {"why": "demo"})
}

test_an_entry_that_has_passed_or_is_for_another_rule_lets_go if {
	every facts in [{"left": 0}, {"rules": ["reap.dirs.disposable"]}] {
		count(project.objections) == 0 with input as _with(subjects.dir, {"keeps": [object.union(_glob, facts)]})
	}
}

test_what_cannot_be_compared_stays if {
	subjects.reasons(project.objections) == ["it may be what its project keeps, since its label is not known: /w/acme"] with input as _with(subjects.dir, {"keeps": [object.union(_glob, {"unknown": ["label"]})]})
}

test_one_of_several_projects_is_enough if {
	subjects.reasons(project.objections) == ["its project keeps it: /w/b"] with input as subjects.changed(subjects.session, "/projects", [_says, object.union(_says, {"path": "/w/b", "keeps": [_glob]})])
}

test_a_rule_that_is_turned_off_keeps if {
	subjects.reasons(project.objections) == ["its project turns off every rule that would reap it: /w/acme"] with input as _with(subjects.dir, {"off": ["reap.dirs.landed"]})
	subjects.reasons(project.objections) == ["its project turns off every rule that would reap it: /w/acme"] with input as _with(subjects.process, {"off": ["reap.processes.orphan", "reap.dirs.landed"]})
	subjects.reasons(project.objections) == ["its project turns off every rule that would reap it: /w/acme"] with input as _with(subjects.session, {"off": ["reap.sessions.idle_shell"]})
}

test_another_rule_that_is_turned_off_lets_go if {
	count(project.objections) == 0 with input as _with(subjects.dir, {"off": ["reap.dirs.disposable"]})
	count(project.objections) == 0 with input as _with(subjects.empty, {"off": ["reap.dirs.landed"]})
}

test_what_is_not_known_of_a_project_keeps if {
	every subject in _every {
		every path, reason in {
			"/projects/0/keeps": "whether it lies in a project that keeps things is not known: /w/acme",
			"/projects/0/off": "its project turns off every rule that would reap it: /w/acme",
		} {
			subjects.reasons(project.objections) == [reason] with input as subjects.without(_with(subject, {}), [path])
		}
	}
	every field in object.keys(_glob) {
		count(project.objections) == 1 with input as subjects.without(_with(subjects.dir, {"keeps": [_glob]}), [$"/projects/0/keeps/0/{field}"])
	}
}
