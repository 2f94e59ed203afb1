package policies.protect.young_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.young

test_what_is_old_enough_may_go if {
	count(young.objections) == 0 with input as subjects.dir
	count(young.objections) == 0 with input as subjects.session
	count(young.objections) == 0 with input as subjects.process
	every terminal in subjects.terminals {
		count(young.objections) == 0 with input as terminal
	}
}

test_a_young_folder_stays if {
	subjects.reasons(young.objections) == ["it changed 14m59s ago; it waits for 15m"] with input as subjects.changed(subjects.dir, "/age", 899)
}

test_a_young_session_stays if {
	subjects.reasons(young.objections) == ["it was made 9m59s ago; it waits for 10m"] with input as subjects.changed(subjects.session, "/age", 599)
}

test_a_young_process_stays if {
	subjects.reasons(young.objections) == ["it was started 4m59s ago; it waits for 5m"] with input as subjects.changed(subjects.process, "/age", 299)
}

test_a_young_terminal_stays if {
	every terminal in subjects.terminals {
		subjects.reasons(young.objections) == ["it was opened 4m59s ago; it waits for 5m"] with input as subjects.changed(terminal, "/age", 299)
		count(young.objections) == 0 with input as subjects.changed(terminal, "/age", 300)
	}
}

test_a_terminal_of_unknown_age_stays if {
	every path in ["/age", "/config/grace/terminal", "/terminal/started_at"] {
		subjects.reasons(young.objections) == ["when it was opened is not known"] with input as subjects.without(subjects.terminal, [path])
	}
	every path in ["/age", "/config/grace/terminal", "/terminal/status"] {
		subjects.reasons(young.objections) == ["when it was opened is not known"] with input as subjects.without(subjects.ended, [path])
	}
}

test_each_kind_has_a_grace_of_its_own if {
	count(young.objections) == 0 with input as subjects.changed(subjects.session, "/age", 600)
	count(young.objections) == 0 with input as subjects.changed(subjects.process, "/age", 300)
	count(young.objections) == 0 with input as subjects.changed(subjects.dir, "/age", 900)
}

test_a_grace_of_zero_is_zero if {
	count(young.objections) == 0 with input as json.patch(subjects.dir, [{"op": "add", "path": "/age", "value": 0}, {"op": "add", "path": "/config/grace/dir", "value": 0}])
}

test_a_change_in_the_future_stays if {
	subjects.reasons(young.objections) == ["it changed in the future, by the clock"] with input as subjects.changed(subjects.dir, "/age", -1)
}

test_a_folder_of_unknown_age_stays if {
	every path in ["/age", "/config/grace/dir"] {
		subjects.reasons(young.objections) == ["when it changed is not known"] with input as subjects.without(subjects.dir, [path])
	}
}

test_a_session_of_unknown_age_stays if {
	every path in ["/age", "/config/grace/session"] {
		subjects.reasons(young.objections) == ["when it was made is not known"] with input as subjects.without(subjects.session, [path])
	}
}

test_a_process_of_unknown_age_stays if {
	every path in ["/age", "/config/grace/process"] {
		subjects.reasons(young.objections) == ["when it was started is not known"] with input as subjects.without(subjects.process, [path])
	}
}
