package policies.lib.sessions_test

import data.policies.lib.sessions
import data.policies.lib.subjects_test as subjects

test_names_are_exact_or_begin_so if {
	sessions.named with input as subjects.session
	not sessions.named with input as subjects.changed(subjects.session, "/session/name", "my-worker-7")
	not sessions.recorded with input as subjects.session
}

test_a_registry_records_it if sessions.recorded with input as subjects.finished
