package policies.protect.owned_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.owned

test_what_nobody_recorded_has_no_owner if {
	count(owned.objections) == 0 with input as subjects.dir
	count(owned.objections) == 0 with input as subjects.session
	count(owned.objections) == 0 with input as subjects.process
}

test_an_entry_that_is_over_lets_go if {
	count(owned.objections) == 0 with input as subjects.finished
}

test_an_open_spawn_keeps_however_old_it_is if {
	count(owned.objections) == 1 with input as subjects.changed(subjects.dir, "/spawns", [{"source": "spawns/builds", "id": "b1", "by": "path", "age": 9000000}])
}

test_a_spawn_that_has_only_just_completed_keeps if {
	count(owned.objections) == 1 with input as subjects.changed(subjects.dir, "/spawns", [{"source": "spawns/builds", "by": "path", "completed": 899}])
}

test_a_spawn_that_completed_long_ago_lets_go if {
	count(owned.objections) == 0 with input as subjects.changed(subjects.dir, "/spawns", [{"source": "spawns/builds", "by": "path", "completed": 900}])
}

test_one_open_spawn_of_two_keeps if {
	count(owned.objections) == 1 with input as subjects.changed(subjects.dir, "/spawns", [{"source": "s", "completed": 900, "by": "path"}, {"source": "s", "by": "path"}])
}

test_an_open_spawn_whose_owner_is_over_lets_go if {
	count(owned.objections) == 0 with input as subjects.changed(subjects.finished, "/spawns", [{"source": "spawns/builds", "id": "w7", "by": "session"}])
}

test_an_open_spawn_of_another_owner_keeps if {
	count(owned.objections) == 1 with input as subjects.changed(subjects.finished, "/spawns", [{"source": "spawns/builds", "id": "w8", "by": "session"}])
}

test_two_missing_ids_are_not_the_same_owner if {
	count(owned.objections) == 1 with input as json.patch(subjects.finished, [{"op": "add", "path": "/spawns", "value": [{"source": "s", "by": "session"}]}, {"op": "remove", "path": "/entries/0/id"}])
}

test_a_live_entry_keeps if {
	count(owned.objections) == 1 with input as subjects.changed(subjects.finished, "/entries/0/status", "working")
}

test_an_entry_of_unknown_status_keeps if {
	count(owned.objections) == 1 with input as subjects.without(subjects.finished, ["/entries/0/status"])
}

test_a_record_that_says_it_is_live_keeps_whatever_its_status if {
	count(owned.objections) == 1 with input as subjects.changed(subjects.finished, "/entries/0/terminal", false)
}

test_a_record_that_says_it_is_over_lets_go_whatever_its_status if {
	count(owned.objections) == 0 with input as json.patch(subjects.finished, [{"op": "add", "path": "/entries/0/terminal", "value": true}, {"op": "add", "path": "/entries/0/status", "value": "odd"}])
}

test_an_empty_status_is_no_terminal_word if {
	count(owned.objections) == 1 with input as subjects.changed(subjects.finished, "/entries/0/status", "")
}
