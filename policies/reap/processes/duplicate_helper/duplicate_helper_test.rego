package policies.reap.processes.duplicate_helper_test

import data.policies.lib.subjects_test as subjects
import data.policies.main
import data.policies.reap.processes.duplicate_helper

test_a_copy_that_no_agent_needs_may_go if {
	subjects.reasons(duplicate_helper.findings) == ["its agent is gone, and each agent that may have started it has a copy of its own"] with input as subjects.duplicate
	main.decision.verdict == "reap" with input as subjects.duplicate
	duplicate_helper.in_scope with input as subjects.duplicate
}

test_one_that_an_agent_may_need_stays if {
	every path, value in {
		"/lineage/copyless": 1,
		"/lineage/family": "dev-server",
		"/lineage/agent_ancestor": true,
		"/process/ppid": 777,
		"/process/listening": [80],
		"/lineage/sockets": ["@x"],
		"/lineage/markers": [],
		"/host/container": true,
	} {
		count(duplicate_helper.findings) == 0 with input as subjects.changed(subjects.duplicate, path, value)
		main.decision.verdict == "spare" with input as subjects.changed(subjects.duplicate, path, value)
	}
}

test_what_is_not_known_keeps_it if {
	every path in [
		"/lineage/copyless", "/lineage/agents", "/lineage/family", "/lineage/agent_ancestor", "/lineage/multiplexer_ancestor", "/process/ppid",
		"/process/listening", "/lineage/sockets", "/lineage/markers", "/lineage/is_agent", "/host/container", "/lineage", "/process",
	] {
		count(duplicate_helper.findings) == 0 with input as subjects.without(subjects.duplicate, [path])
		main.decision.verdict == "spare" with input as subjects.without(subjects.duplicate, [path])
	}
}
