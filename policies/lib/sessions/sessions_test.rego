package policies.lib.sessions_test

import data.policies.lib.sessions
import data.policies.lib.subjects_test as subjects

test_names_are_exact_or_begin_so if {
	sessions.named with input as subjects.session
	not sessions.named with input as subjects.changed(subjects.session, "/session/name", "my-worker-7")
	not sessions.recorded with input as subjects.session
}

test_a_registry_records_it if sessions.recorded with input as subjects.finished

test_a_session_that_was_made_after_its_owner_ended_is_another if {
	not sessions.recorded with input as subjects.changed(subjects.finished, "/made", 599)
	sessions.recorded with input as subjects.changed(subjects.finished, "/made", 600)
	not sessions.recorded with input as subjects.without(subjects.finished, ["/made"])
	sessions.recorded with input as subjects.without(subjects.finished, ["/entries/0/ended", "/made"])
}

test_an_entry_that_may_mean_another_session_records_none if {
	not sessions.recorded with input as subjects.changed(subjects.finished, "/entries/0/shared", true)
	not sessions.recorded with input as subjects.changed(subjects.without(subjects.finished, ["/entries/0/ended"]), "/entries/0/shared", true)
}
