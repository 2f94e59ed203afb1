package policies.protect.clock_unsteady_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.clock_unsteady

test_a_machine_that_has_been_steady_lets_go if {
	count(clock_unsteady.objections) == 0 with input as subjects.dir
	count(clock_unsteady.objections) == 0 with input as subjects.session
	count(clock_unsteady.objections) == 0 with input as subjects.process
}

test_a_machine_that_resumed_just_now_keeps if {
	subjects.reasons(clock_unsteady.objections) == ["the machine booted, resumed or had its clock set 5s ago; it waits for 30s"] with input as subjects.changed(subjects.dir, "/host/steady", 5)
}

test_exactly_long_enough_is_enough if {
	count(clock_unsteady.objections) == 0 with input as subjects.changed(subjects.dir, "/host/steady", 30)
}

test_not_knowing_since_when_keeps if {
	every path in ["/host/steady", "/host", "/config/steady_for"] {
		subjects.reasons(clock_unsteady.objections) == ["when the machine booted, resumed or had its clock set is not known"] with input as subjects.without(subjects.dir, [path])
	}
}
