package policies.lib.provenance_test

import data.policies.lib.provenance
import data.policies.lib.subjects_test as subjects

test_a_process_of_an_agent_is_in_scope if {
	provenance.scope with input as subjects.process
	provenance.scope with input as json.patch(subjects.process, [
		{"op": "add", "path": "/lineage/markers", "value": []},
		{"op": "add", "path": "/lineage/seen_gone", "value": true},
	])
	not provenance.scope with input as subjects.changed(subjects.process, "/lineage/markers", [])
	not provenance.scope with input as subjects.without(subjects.process, ["/lineage/markers"])
}

test_each_source_is_one_claim if {
	provenance.claims == {"environment", "handed", "hint"} with input as subjects.process
	provenance.claims == {"environment", "handed", "hint", "pane", "memory", "folder", "program"} with input as object.union(subjects.process, {"lineage": {
		"added": ["AGENT_SESSION"],
		"seen_gone": true,
		"agent_dir": "/w/feature",
		"family": "mcp-server",
	}})
	provenance.claims == {"handed", "hint"} with input as subjects.changed(subjects.process, "/lineage/multiplexer", true)
	provenance.claims == {"hint"} with input as subjects.changed(subjects.process, "/lineage/identifying", [])
	provenance.claims == set() with input as subjects.without(subjects.process, ["/lineage"])
}

test_one_claim_is_not_enough if {
	provenance.left_behind with input as subjects.process
	every path, value in {"/process/ppid": 777, "/lineage/multiplexer": true, "/lineage/identifying": [], "/host/container": true} {
		not provenance.left_behind with input as subjects.changed(subjects.process, path, value)
	}
}

_deaf := object.union(subjects.process, {
	"process": {"markers": {}, "input_ended": true, "listening": []},
	"lineage": {"markers": [], "identifying": [], "family": "mcp-server", "sockets": []},
})

test_a_server_whose_input_has_ended_is_left_behind if {
	provenance.scope with input as _deaf
	provenance.left_behind with input as _deaf
	provenance.claims == {"program", "input", "deaf"} with input as _deaf
	every path, value in {
		"/process/input_ended": false,
		"/process/ppid": 777,
		"/process/listening": [3000],
		"/lineage/sockets": ["/run/x"],
		"/lineage/family": "dev-server",
		"/lineage/agent_ancestor": true,
		"/lineage/multiplexer_ancestor": true,
		"/host/container": true,
	} {
		not provenance.left_behind with input as subjects.changed(_deaf, path, value)
	}
	every path in ["/process/input_ended", "/process/ppid", "/process/listening", "/lineage/sockets", "/lineage/family", "/lineage/agent_ancestor", "/host/orphan_parents"] {
		not provenance.left_behind with input as subjects.without(_deaf, [path])
	}
}

test_what_is_not_known_is_not_claimed if {
	every path in [
		"/process/ppid", "/host/orphan_parents", "/host/container", "/lineage/agent_ancestor", "/lineage/multiplexer_ancestor", "/lineage/identifying",
		"/lineage/multiplexer",
	] {
		not provenance.left_behind with input as subjects.without(subjects.process, [path])
	}
}

test_the_agent_is_known_by_its_pid_its_record_or_from_looks if {
	not provenance.agent_gone with input as subjects.process
	every fact in ["starter_gone", "session_gone", "seen_gone"] {
		path := concat("/", ["/lineage", fact])
		provenance.agent_gone with input as subjects.changed(subjects.process, path, true)
		not provenance.agent_gone with input as subjects.changed(subjects.process, path, false)
	}
	not provenance.agent_gone with input as json.patch(subjects.process, [
		{"op": "add", "path": "/lineage/starter_gone", "value": true},
		{"op": "add", "path": "/lineage/multiplexer", "value": true},
	])
}

test_every_claim_has_its_words if {
	every claim in provenance.claims {
		claim in {"environment", "handed", "hint"}
	} with input as subjects.process
	count(provenance.sources) == 2 with input as subjects.process
	count(provenance.sources) == 3 with input as subjects.changed(subjects.process, "/process/proven", "mcp-server")
	count(provenance.sources) == 2 with input as subjects.changed(subjects.process, "/process/proven", "driven-browser")
}
