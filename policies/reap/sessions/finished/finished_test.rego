package policies.reap.sessions.finished_test

import data.policies.lib.subjects_test as subjects
import data.policies.reap.sessions.finished

test_a_session_whose_owner_is_over_is_finished if {
	subjects.reasons(finished.findings) == ["the registry says that its owner has ended"] with input as subjects.finished
	finished.in_scope with input as subjects.finished
}

test_a_record_may_say_so_itself if {
	subjects.reasons(finished.findings) == ["the registry says that its owner has ended"] with input as json.patch(subjects.finished, [{"op": "add", "path": "/entries/0/terminal", "value": true}, {"op": "remove", "path": "/entries/0/status"}])
}

test_a_record_that_says_the_opposite_wins_over_its_status if {
	count(finished.findings) == 0 with input as subjects.changed(subjects.finished, "/entries/0/terminal", false)
}

test_any_other_word_is_not_over if {
	count(finished.findings) == 0 with input as subjects.changed(subjects.finished, "/entries/0/status", "paused")
}

test_an_owner_that_ended_before_the_session_was_made_was_another_ones if {
	count(finished.findings) == 0 with input as subjects.changed(subjects.finished, "/entries/0/ended", 7201)
}

test_how_long_the_machine_slept_since_changes_nothing_of_that if {
	subjects.reasons(finished.findings) == ["the registry says that its owner has ended"] with input as subjects.changed(subjects.finished, "/age", 60)
	count(finished.findings) == 0 with input as subjects.changed(subjects.changed(subjects.finished, "/age", 60), "/entries/0/ended", 7201)
}

test_an_end_in_the_future_is_none if {
	count(finished.findings) == 0 with input as subjects.changed(subjects.finished, "/entries/0/ended", -1)
}

test_an_entry_that_only_shares_a_path_is_not_the_sessions if {
	count(finished.findings) == 0 with input as subjects.changed(subjects.finished, "/entries/0/by", "path")
	not finished.in_scope with input as subjects.changed(subjects.finished, "/entries/0/by", "path")
}

test_a_session_without_a_record_is_out_of_scope if {
	count(finished.findings) == 0 with input as subjects.session
	not finished.in_scope with input as subjects.session
}

test_a_missing_fact_is_no_end if {
	every path in ["/entries", "/entries/0/status", "/entries/0/by", "/entries/0/ended", "/made", "/config/terminal_statuses"] {
		count(finished.findings) == 0 with input as subjects.without(subjects.finished, [path])
	}
}
