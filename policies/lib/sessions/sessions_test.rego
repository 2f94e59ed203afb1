package policies.lib.sessions_test

import data.policies.lib.sessions
import data.policies.lib.subjects_test as subjects

test_names_are_exact_or_begin_so if {
	sessions.named with input as subjects.session
	not sessions.named with input as subjects.changed(subjects.session, "/session/name", "my-worker-7")
	not sessions.recorded with input as subjects.session
}

test_a_registry_records_it if sessions.recorded with input as subjects.finished

test_a_session_without_popups_is_known_to_have_none if {
	sessions.no_popups with input as subjects.session
	not sessions.no_popups with input as subjects.changed(subjects.session, "/session/popups", [{"pid": 900, "name": "sh"}])
	not sessions.no_popups with input as subjects.without(subjects.session, ["/session/popups"])
}

test_a_session_of_which_something_could_not_be_read_is_not_told if {
	sessions.read with input as subjects.session
	not sessions.read with input as subjects.changed(subjects.session, "/session/error", "its name holds a tab")
	not sessions.read with input as subjects.without(subjects.session, ["/session/error"])
}

test_a_session_that_was_made_after_its_owner_ended_is_another if {
	not sessions.recorded with input as subjects.changed(subjects.finished, "/made", 599)
	sessions.recorded with input as subjects.changed(subjects.finished, "/made", 600)
	not sessions.recorded with input as subjects.without(subjects.finished, ["/made"])
	not sessions.recorded with input as subjects.without(subjects.finished, ["/entries/0/ended"])
}

test_a_session_of_an_entry_without_an_end_may_be_its if {
	endless := subjects.changed(subjects.without(subjects.finished, ["/entries/0/ended", "/made"]), "/entries/0/endless", true)
	sessions.recorded with input as endless
	not sessions.recorded with input as subjects.without(endless, ["/entries/0/endless"])
}

test_an_entry_that_may_mean_another_session_records_none if {
	not sessions.recorded with input as subjects.changed(subjects.finished, "/entries/0/shared", true)
	not sessions.recorded with input as subjects.without(subjects.finished, ["/entries/0/shared"])
	not sessions.recorded with input as json.patch(subjects.finished, [{"op": "add", "path": "/entries/0/endless", "value": true}, {"op": "add", "path": "/entries/0/shared", "value": true}])
}
