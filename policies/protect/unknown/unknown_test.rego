package policies.protect.unknown_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.unknown

test_everything_was_read if {
	count(unknown.objections) == 0 with input as subjects.dir
	count(unknown.objections) == 0 with input as subjects.session
	count(unknown.objections) == 0 with input as subjects.process
	count(unknown.objections) == 0 with input as subjects.empty
	count(unknown.objections) == 0 with input as subjects.finished
}

test_a_failed_source_keeps_and_is_named if {
	some objection in unknown.objections with input as subjects.changed(subjects.dir, "/evidence_sources/registry~1workers", "failed")
	objection.evidence == {"source": "registry/workers", "status": "failed"}
}

test_a_registry_that_is_not_there_keeps if {
	count(unknown.objections) == 1 with input as subjects.changed(subjects.dir, "/evidence_sources/registry~1workers", "absent")
}

test_a_socket_without_a_server_is_no_gap if {
	count(unknown.objections) == 0 with input as subjects.changed(subjects.process, "/evidence_sources/tmux~1default", "absent")
}

test_a_server_that_does_not_answer_is_a_gap if {
	count(unknown.objections) == 1 with input as subjects.changed(subjects.process, "/evidence_sources/tmux~1default", "failed")
}

test_an_own_source_that_is_not_ok_keeps if {
	count(unknown.objections) > 0 with input as subjects.changed(subjects.session, "/source/status", "absent")
}

test_what_is_not_told_keeps if {
	every path in ["/identity", "/source", "/source/status", "/evidence_sources", "/evidence_sources/proc", "/evidence_sources/ledger"] {
		count(unknown.objections) > 0 with input as subjects.without(subjects.dir, [path])
	}
}
