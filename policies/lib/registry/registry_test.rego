package policies.lib.registry_test

import data.policies.lib.registry
import data.policies.lib.subjects_test as subjects

test_places_and_ids_are_of_those_that_are_over if {
	entries := [
		{"id": "a", "status": "completed"},
		{"id": "b", "status": "running"},
		{"id": "c", "terminal": true},
		{"id": "d", "terminal": false, "status": "failed"},
		{"id": "e"},
	]
	registry.over == {0, 2} with input as subjects.changed(subjects.dir, "/entries", entries)
	registry.owners_over == {"a", "c"} with input as subjects.changed(subjects.dir, "/entries", entries)
}

test_marked_are_the_entries_of_its_identifying_markers if {
	registry.marked == {0} with input as subjects.runaway
	registry.marked_over with input as subjects.runaway
	registry.marked == set() with input as subjects.changed(subjects.runaway, "/entries/0/marker", "")
	registry.marked == set() with input as subjects.process
	not registry.marked_over with input as subjects.process
}

test_two_empty_markers_are_not_the_same if {
	registry.marked == set() with input as json.patch(subjects.runaway, [{"op": "add", "path": "/entries/0/marker", "value": ""}, {"op": "add", "path": "/process/markers/AGENT_SESSION", "value": ""}])
}
