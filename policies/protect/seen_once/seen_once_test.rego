package policies.protect.seen_once_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.seen_once

test_a_second_look_after_the_wait_lets_go if {
	count(seen_once.objections) == 0 with input as subjects.session
	count(seen_once.objections) == 0 with input as subjects.finished
	every terminal in subjects.terminals {
		count(seen_once.objections) == 0 with input as terminal
	}
}

test_the_first_look_keeps if {
	count(seen_once.objections) == 1 with input as subjects.without(subjects.session, ["/sighting"])
}

test_a_second_look_too_soon_keeps if {
	count(seen_once.objections) == 1 with input as subjects.changed(subjects.session, "/sighting/first", 29)
}

test_a_sighting_of_something_else_keeps if {
	count(seen_once.objections) == 1 with input as subjects.changed(subjects.session, "/sighting/identity", "another")
}

test_a_sighting_with_another_reason_keeps if {
	count(seen_once.objections) == 1 with input as subjects.changed(subjects.session, "/sighting/rule", "reap.sessions.finished")
}

test_two_unknown_identities_are_not_the_same if {
	count(seen_once.objections) == 1 with input as json.patch(subjects.session, [{"op": "replace", "path": "/identity", "value": ""}, {"op": "replace", "path": "/sighting/identity", "value": ""}])
}

test_a_sighting_that_says_too_little_keeps if {
	every path in ["/identity", "/sighting/identity", "/sighting/rule", "/sighting/first", "/config/confirm_after"] {
		count(seen_once.objections) > 0 with input as subjects.without(subjects.session, [path])
	}
}

test_without_a_reason_there_is_nothing_to_wait_for if {
	count(seen_once.objections) == 0 with input as json.patch(subjects.session, [
		{"op": "remove", "path": "/sighting"},
		{"op": "replace", "path": "/session/name", "value": "mine"},
	])
}

test_every_reason_to_close_a_terminal_waits if {
	every terminal in subjects.terminals {
		count(seen_once.objections) == 1 with input as subjects.without(terminal, ["/sighting"])
		count(seen_once.objections) == 1 with input as subjects.changed(terminal, "/sighting/first", 29)
		count(seen_once.objections) == 1 with input as subjects.changed(terminal, "/sighting/rule", "reap.terminals.other")
	}
}

test_tabs_and_terminals_wait_too if {
	every kind in ["tab", "terminal"] {
		count(seen_once.objections) == 1 with input as subjects.changed(subjects.session, "/kind", kind)
			with data.policies.reap as {sprintf("%ss", [kind]): {"husk": {"findings": {{"rule": "x"}}}}}
	}
}

test_folders_and_processes_need_one_look if {
	count(seen_once.objections) == 0 with input as subjects.dir
	count(seen_once.objections) == 0 with input as subjects.process
}
