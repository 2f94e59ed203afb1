package policies.protect.project_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.project

_says := {"path": "/w/acme", "file": "/w/acme/.winnow/config.yaml", "places": ["feature"], "keeps": [], "above": [], "off": []}

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

test_a_glob_keeps_what_lies_there if {
	every subject in _every {
		every pattern in ["feature", "feat*", "*", "**", "?eature"] {
			subjects.reasons(project.objections) == ["its project keeps it: /w/acme"] with input as _with(subject, {"keeps": [{"glob": pattern}]})
		}
	}
}

test_a_glob_keeps_what_lies_below_it if {
	every subject in _every {
		subjects.reasons(project.objections) == ["its project keeps it: /w/acme"] with input as _with(subject, {"places": ["feature/src/x"], "keeps": [{"glob": "feature"}]})
		subjects.reasons(project.objections) == ["its project keeps it: /w/acme"] with input as _with(subject, {"places": ["feature/src/x"], "keeps": [{"glob": "feature/s*"}]})
	}
}

test_another_glob_lets_go if {
	every subject in _every {
		every pattern in ["featur", "feature-2", "feature/src", "x/feature"] {
			count(project.objections) == 0 with input as _with(subject, {"keeps": [{"glob": pattern}]})
		}
	}
}

test_a_folder_is_kept_for_what_may_lie_in_it if {
	subjects.reasons(project.objections) == ["its project keeps it: /w/acme"] with input as _with(subjects.dir, {"keeps": [{"glob": "feature/data"}], "above": ["feature"]})
	subjects.reasons(project.objections) == ["its project keeps it: /w/acme"] with input as _with(subjects.dir, {"keeps": [{"glob": "**/data"}], "above": ["**"]})
	count(project.objections) == 0 with input as _with(subjects.dir, {"keeps": [{"glob": "other/data"}], "above": ["other"]})
	count(project.objections) == 0 with input as _with(subjects.process, {"keeps": [{"glob": "feature/data"}], "above": ["feature"]})
}

test_a_hold_says_why if {
	some objection in project.objections with input as _with(subjects.dir, {"keeps": [{"glob": "feature", "reason": "demo"}]})
	objection.message == "its project keeps it: /w/acme"
	objection.evidence.reasons == ["demo"]
}

test_one_of_several_places_is_enough if {
	subjects.reasons(project.objections) == ["its project keeps it: /w/acme"] with input as _with(subjects.session, {"places": ["a", "feature"], "keeps": [{"glob": "feature"}]})
}

test_one_of_several_projects_is_enough if {
	subjects.reasons(project.objections) == ["its project keeps it: /w/b"] with input as subjects.changed(subjects.session, "/projects", [_says, object.union(_says, {"path": "/w/b", "keeps": [{"glob": "feature"}]})])
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
			"/projects/0/places": "whether it lies in a project that keeps things is not known: /w/acme",
			"/projects/0/keeps": "its project keeps it: /w/acme",
			"/projects/0/off": "its project turns off every rule that would reap it: /w/acme",
		} {
			subjects.reasons(project.objections) == [reason] with input as subjects.without(_with(subject, {}), [path])
		}
	}
	subjects.reasons(project.objections) == ["its project keeps it: /w/acme"] with input as subjects.without(_with(subjects.dir, {}), ["/projects/0/above"])
	subjects.reasons(project.objections) == ["whether it lies in a project that keeps things is not known: /w/acme"] with input as _with(subjects.dir, {"places": []})
}

test_a_glob_that_is_none_keeps if {
	subjects.reasons(project.objections) == ["its project keeps it: /w/acme"] with input as _with(subjects.dir, {"keeps": [{"glob": "[oops"}]})
}
