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
