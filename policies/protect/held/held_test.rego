package policies.protect.held_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.held

test_nobody_holds_it if {
	count(held.objections) == 0 with input as subjects.dir
	count(held.objections) == 0 with input as subjects.session
	count(held.objections) == 0 with input as subjects.process
	count(held.objections) == 0 with input as subjects.finished
}

test_a_hold_keeps_and_says_who_and_why if {
	some objection in held.objections with input as subjects.changed(subjects.dir, "/hold", {"owner": "ann", "reason": "demo on friday"})
	objection.message == "held by ann: demo on friday"
	objection.evidence == {"owner": "ann", "reason": "demo on friday"}
}

test_a_hold_without_any_fact_keeps if {
	subjects.reasons(held.objections) == ["held by an owner who gave no name: no reason given"] with input as subjects.changed(subjects.dir, "/hold", {})
}

test_a_retained_entry_keeps_although_it_is_over if {
	subjects.reasons(held.objections) == ["a registry entry that concerns it is marked as retained"] with input as subjects.changed(subjects.finished, "/entries/0/retained", true)
}

test_an_entry_that_is_not_retained_lets_go if {
	count(held.objections) == 0 with input as subjects.changed(subjects.finished, "/entries/0/retained", false)
}
