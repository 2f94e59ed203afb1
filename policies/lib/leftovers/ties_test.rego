package policies.lib.leftovers_test

import data.policies.lib.leftovers
import data.policies.lib.subjects_test as subjects

test_what_nothing_ties_is_loose if {
	leftovers.loose with input as subjects.process
	leftovers.loose_members == {990} with input as subjects.littered
}

_wrote(subject, at, seconds) := json.patch(subject, [
	{"op": "add", "path": concat("", [at, "/writes_files"]), "value": 2},
	{"op": "add", "path": concat("", [at, "/output"]), "value": seconds},
])

test_what_it_is_for_keeps_it if {
	every path, value in {"intent": ["nohup"], "connections": 1, "writes_files": 1} {
		not leftovers.loose with input as subjects.changed(subjects.process, concat("/", ["/lineage", path]), value)
		leftovers.loose_members == set() with input as subjects.changed(subjects.littered, concat("/", ["/members/0/lineage", path]), value)
	}
}

test_what_is_not_known_ties if {
	every path in ["intent", "connections", "writes_files"] {
		not leftovers.loose with input as subjects.without(subjects.process, [concat("/", ["/lineage", path])])
		leftovers.loose_members == set() with input as subjects.without(subjects.littered, [concat("/", ["/members/0/lineage", path])])
	}
	not leftovers.loose with input as subjects.without(_wrote(subjects.process, "/lineage", 1800), ["/config/confirm_busy_after"])
}

test_a_file_that_has_not_changed_for_long_is_no_work if {
	leftovers.loose with input as _wrote(subjects.process, "/lineage", 1800)
	not leftovers.loose with input as _wrote(subjects.process, "/lineage", 1799)
	leftovers.loose_members == {990} with input as _wrote(subjects.littered, "/members/0/lineage", 1800)
	leftovers.loose_members == set() with input as _wrote(subjects.littered, "/members/0/lineage", 1799)
}

test_a_clock_that_was_set_back_keeps if {
	not leftovers.loose with input as _wrote(subjects.process, "/lineage", -5)
}
