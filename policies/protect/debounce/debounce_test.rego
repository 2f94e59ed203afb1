package policies.protect.debounce_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.debounce

test_a_second_look_after_the_wait_lets_go if {
	count(debounce.objections) == 0 with input as subjects.session
	count(debounce.objections) == 0 with input as subjects.finished
	every terminal in subjects.terminals {
		count(debounce.objections) == 0 with input as terminal
	}
}

test_the_first_look_keeps if {
	subjects.reasons(debounce.objections) == ["it needs a second look, 30s after the first"] with input as subjects.without(subjects.session, ["/sighting"])
}

test_a_second_look_too_soon_keeps if {
	subjects.reasons(debounce.objections) == ["seen for 29s of 30s"] with input as subjects.changed(subjects.session, "/sighting/first", 29)
}

test_a_shell_that_ran_between_the_looks_keeps if {
	every subject in [subjects.session, subjects.tab] {
		rest := concat("", ["/", subject.kind, "/panes/0/session/0/rest/seconds"])
		subjects.reasons(debounce.objections) == ["its shell has rested for 29s of 30s"] with input as subjects.changed(subject, rest, 29)
		count(debounce.objections) == 0 with input as subjects.changed(subject, rest, 30)
		some objection in debounce.objections with input as subjects.changed(subject, rest, 12)
		objection.evidence.left == 18
	}
}

test_a_shell_of_which_it_is_not_known_when_it_ran_keeps if {
	unknown := subjects.without(subjects.finished, ["/session/panes/0/session/0/rest"])
	subjects.reasons(debounce.objections) == ["when a shell of it last ran is not known"] with input as unknown
}

test_a_sighting_of_something_else_keeps if {
	subjects.reasons(debounce.objections) == ["it needs a second look, 30s after the first"] with input as subjects.changed(subjects.session, "/sighting/identity", "another")
}

test_a_sighting_with_another_reason_keeps if {
	subjects.reasons(debounce.objections) == ["it needs a second look, 30s after the first"] with input as subjects.changed(subjects.session, "/sighting/rule", "reap.sessions.finished")
}

test_two_unknown_identities_are_not_the_same if {
	subjects.reasons(debounce.objections) == ["it needs a second look, 30s after the first"] with input as json.patch(subjects.session, [{"op": "replace", "path": "/identity", "value": ""}, {"op": "replace", "path": "/sighting/identity", "value": ""}])
}

test_a_sighting_that_says_too_little_keeps if {
	every path, reasons in {
		"/identity": ["it needs a second look, 30s after the first"],
		"/sighting/identity": ["it needs a second look, 30s after the first"],
		"/sighting/rule": ["it needs a second look, 30s after the first"],
		"/sighting/first": ["when it was first found is not known"],
		"/config/confirm_after": ["when it was first found is not known"],
	} {
		subjects.reasons(debounce.objections) == reasons with input as subjects.without(subjects.session, [path])
	}
}

test_without_a_reason_there_is_nothing_to_wait_for if {
	count(debounce.objections) == 0 with input as json.patch(subjects.session, [
		{"op": "remove", "path": "/sighting"},
		{"op": "replace", "path": "/session/name", "value": "mine"},
	])
}

test_every_reason_to_close_a_terminal_waits if {
	every terminal in subjects.terminals {
		subjects.reasons(debounce.objections) == ["it needs a second look, 30s after the first"] with input as subjects.without(terminal, ["/sighting"])
		subjects.reasons(debounce.objections) == ["seen for 29s of 30s"] with input as subjects.changed(terminal, "/sighting/first", 29)
		subjects.reasons(debounce.objections) == ["it needs a second look, 30s after the first"] with input as subjects.changed(terminal, "/sighting/rule", "reap.terminals.other")
	}
}

test_tabs_and_terminals_wait_too if {
	every kind in ["tab", "terminal"] {
		subjects.reasons(debounce.objections) == ["it needs a second look, 30s after the first"] with input as subjects.changed(subjects.session, "/kind", kind)
			with data.policies.reap as {sprintf("%ss", [kind]): {"husk": {"findings": {{}}}}}
	}
}

test_folders_need_one_look if count(debounce.objections) == 0 with input as subjects.dir

_processes := {subjects.process, subjects.deleted, subjects.runaway}

test_a_second_look_at_a_process_that_was_idle_lets_go if {
	every process in _processes {
		count(debounce.objections) == 0 with input as process
		count(debounce.objections) == 0 with input as json.patch(process, [{"op": "add", "path": "/sighting/first", "value": 300}, {"op": "add", "path": "/sighting/idle", "value": 300}])
	}
}

test_the_first_look_at_a_process_keeps if {
	every process in _processes {
		some objection in debounce.objections with input as subjects.without(process, ["/sighting"])
		objection.evidence.left == 300
	}
}

test_a_second_look_at_a_process_too_soon_keeps if {
	every process in _processes {
		some objection in debounce.objections with input as json.patch(process, [{"op": "add", "path": "/sighting/first", "value": 299}, {"op": "add", "path": "/sighting/idle", "value": 299}])
		objection.evidence.left == 1
	}
}

test_a_sighting_of_another_process_or_reason_keeps if {
	every process in _processes {
		every patch in [{"op": "add", "path": "/sighting/identity", "value": "another"}, {"op": "add", "path": "/sighting/rule", "value": "reap.processes.other"}] {
			subjects.reasons(debounce.objections) == ["it needs a second look, 5m after the first"] with input as json.patch(process, [patch])
		}
	}
}

test_a_process_that_was_busy_stays_for_longer if {
	every process in {subjects.process, subjects.deleted} {
		some early in debounce.objections with input as subjects.changed(process, "/sighting/idle", 0)
		early.message == "it has worked since the look before"
		early.evidence.left == 300
		some late in debounce.objections with input as json.patch(process, [{"op": "add", "path": "/sighting/first", "value": 1799}, {"op": "add", "path": "/sighting/idle", "value": 299}])
		late.evidence.left == 1
		count(debounce.objections) == 0 with input as json.patch(process, [{"op": "add", "path": "/sighting/first", "value": 1800}, {"op": "add", "path": "/sighting/idle", "value": 0}])
	}
}

test_whether_it_was_busy_is_not_known if {
	every process in {subjects.process, subjects.deleted} {
		unknown := subjects.without(process, ["/sighting/idle"])
		subjects.reasons(debounce.objections) == ["whether it has worked since the look before is not known"] with input as unknown
		subjects.reasons(debounce.objections) == ["whether it has worked since the look before is not known"] with input as subjects.changed(unknown, "/sighting/first", 1799)
		count(debounce.objections) == 0 with input as subjects.changed(unknown, "/sighting/first", 1800)
	}
}

test_busy_is_never_waited_for_less_than_idle if {
	process := json.patch(subjects.process, [{"op": "add", "path": "/config/confirm_busy_after", "value": 60}, {"op": "add", "path": "/sighting/idle", "value": 0}])
	subjects.reasons(debounce.objections) == ["it has worked since the look before; seen for 4m59s of 5m"] with input as subjects.changed(process, "/sighting/first", 299)
	count(debounce.objections) == 0 with input as subjects.changed(process, "/sighting/first", 300)
}

test_a_runaway_is_busy_and_takes_two_looks if {
	count(debounce.objections) == 0 with input as subjects.changed(subjects.runaway, "/sighting/first", 300)
	subjects.reasons(debounce.objections) == ["it has worked since the look before; seen for 4m59s of 5m"] with input as subjects.changed(subjects.runaway, "/sighting/first", 299)
	subjects.reasons(debounce.objections) == ["it needs a second look, 5m after the first"] with input as json.patch(subjects.runaway, [{"op": "add", "path": "/busy", "value": 0.1}, {"op": "add", "path": "/process/ppid", "value": 1}])
}

test_without_a_wait_one_look_at_a_process_is_enough if {
	every process in _processes {
		count(debounce.objections) == 0 with input as subjects.changed(subjects.without(process, ["/sighting"]), "/config/confirm_process_after", 0)
	}
}

test_a_sighting_of_a_process_that_says_too_little_keeps if {
	every process in _processes {
		every path in ["/identity", "/sighting/identity", "/sighting/rule", "/sighting"] {
			subjects.reasons(debounce.objections) == ["it needs a second look, 5m after the first"] with input as subjects.without(process, [path])
		}
	}
	every path in ["/sighting/first", "/config/confirm_process_after"] {
		every process in [subjects.process, subjects.deleted] {
			subjects.reasons(debounce.objections) == ["when it was first found is not known"] with input as subjects.without(process, [path])
		}
		subjects.reasons(debounce.objections) == ["it has worked since the look before"] with input as subjects.without(subjects.runaway, [path])
	}
	subjects.reasons(debounce.objections) == ["whether it has worked since the look before is not known"] with input as subjects.without(subjects.process, ["/sighting/idle", "/config/confirm_busy_after"])
}

test_without_a_reason_there_is_nothing_to_wait_for_in_a_process if {
	count(debounce.objections) == 0 with input as json.patch(subjects.process, [{"op": "remove", "path": "/sighting"}, {"op": "add", "path": "/process/ppid", "value": 777}])
}
