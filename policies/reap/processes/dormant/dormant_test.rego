package policies.reap.processes.dormant_test

import data.policies.lib.subjects_test as subjects
import data.policies.main
import data.policies.reap.processes.dormant

_unnamed := subjects.unidentified(subjects.changed(subjects.dormant, "/lineage/interpreter", "node"))

_agent := json.patch(subjects.dormant, [
	{"op": "add", "path": "/lineage/is_agent", "value": true},
	{"op": "add", "path": "/process/name", "value": "claude"},
	{"op": "add", "path": "/process/waits", "value": false},
])

_below := {"id": "process:900@95000", "held": false, "pid": 900, "name": "worker", "uid": 1000, "personal": "", "own": true, "waits": true}

_asked := {"by": "user", "uid": 1000, "mine": false}

test_what_nothing_can_speak_with_may_go_whatever_it_is_called if {
	every subject in [
		subjects.dormant, _unnamed,
		subjects.changed(subjects.dormant, "/lineage/markers", []),
		subjects.without(subjects.dormant, ["/lineage/agents"]),
		subjects.changed(subjects.dormant, "/lineage/below", [_below]),
	] {
		subjects.reasons(dormant.findings) == ["nothing can speak with it any more, and it waits for what cannot come"] with input as subject
		main.decision.verdict == "reap" with input as subject
	}
}

test_what_speaks_with_it_or_wakes_it_keeps_it if {
	every subject in [subjects.dormant, _unnamed] {
		every path, value in {
			"/process/input_ended": false,
			"/process/output_ended": false,
			"/process/waits": false,
			"/process/tty": "pts/4",
			"/process/ppid": 777,
			"/lineage/tty_below": true,
			"/process/listening": [3000],
			"/lineage/sockets": ["/run/x"],
			"/lineage/listener_below": true,
			"/lineage/peers": [{"pid": 5, "name": "bash"}],
			"/lineage/agent_below": true,
			"/lineage/agent_ancestor": true,
			"/lineage/multiplexer_ancestor": true,
			"/lineage/intent": ["hangup"],
			"/lineage/connections": 1,
			"/host/container": true,
			"/lineage/below": [object.union(_below, {"waits": false})],
		} {
			main.decision.verdict == "spare" with input as subjects.changed(subject, path, value)
		}
		wrote := json.patch(subject, [{"op": "add", "path": "/lineage/writes_files", "value": 1}, {"op": "add", "path": "/lineage/output", "value": 60}])
		main.decision.verdict == "spare" with input as wrote
	}
}

test_what_is_not_known_keeps_it if {
	every subject in [subjects.dormant, _unnamed] {
		every path in [
			"/process/input_ended", "/process/output_ended", "/process/waits", "/process/tty", "/process/ppid",
			"/lineage/tty_below", "/process/listening", "/lineage/sockets", "/lineage/listener_below", "/lineage/peers", "/lineage/agent_below", "/lineage/agent_ancestor",
			"/lineage/multiplexer_ancestor", "/lineage/intent", "/lineage/connections", "/lineage/writes_files", "/lineage/below", "/lineage/personal",
			"/host/container", "/host/orphan_parents", "/config/dormant_after", "/sighting/idle", "/sighting/cpu", "/sighting/written", "/sighting",
			"/lineage", "/process",
		] {
			main.decision.verdict == "spare" with input as subjects.without(subject, [path])
		}
		main.decision.verdict == "spare" with input as subjects.changed(subject, "/process/partial", true)
	}
	main.decision.verdict == "spare" with input as subjects.without(subjects.dormant, ["/lineage/is_agent"])
	main.decision.verdict == "spare" with input as subjects.without(_unnamed, ["/process/exe"])
	main.decision.verdict == "spare" with input as subjects.without(_unnamed, ["/lineage/unidentified"])
}

test_a_process_below_it_that_does_not_show_how_it_waits_keeps_it if {
	main.decision.verdict == "spare" with input as subjects.changed(subjects.dormant, "/lineage/below", [object.remove(_below, ["waits"])])
}

test_it_has_to_do_nothing_for_hours if {
	every subject in [subjects.dormant, _unnamed] {
		every path, value in {"/sighting/first": 21599, "/sighting/idle": 21599, "/sighting/cpu": 0.0001, "/sighting/written": 0.01} {
			[objection.rule | some objection in main.decision.objections] == ["protect.debounce"] with input as subjects.changed(subject, path, value)
		}
	}
}

test_another_rule_does_not_shorten_the_wait_where_it_needs_the_same_proof if {
	marked := json.patch(subjects.dormant, [{"op": "add", "path": "/sighting/first", "value": 3600}, {"op": "add", "path": "/sighting/idle", "value": 3600}])
	{finding.rule | some finding in main.decision.findings} == {"reap.processes.dormant", "reap.processes.orphan"} with input as marked
	main.decision.verdict == "spare" with input as marked
	main.decision.verdict == "reap" with input as subjects.changed(marked, "/lineage/agents", 0)
}

test_that_the_rule_is_off_lets_nothing_go_sooner if {
	off := json.patch(subjects.dormant, [
		{"op": "add", "path": "/config/levels", "value": [{"rule": "reap.processes.dormant", "kind": "process", "level": "off"}]},
		{"op": "add", "path": "/sighting/rule", "value": "reap.processes.orphan"},
		{"op": "add", "path": "/sighting/first", "value": 3600},
	])
	main.decision.verdict == "spare" with input as off
}

test_an_agent_is_named_and_goes_only_when_a_person_asks_for_it if {
	some finding in dormant.findings with input as _agent
	finding.message == "no program and no person can speak with this agent any more"
	finding.evidence.agent == "claude"
	{objection.message | some objection in main.decision.objections} == {"it is an agent", "codex (31) runs and may own it; it may go once that ends"} with input as _agent
	main.decision.verdict == "reap" with input as subjects.changed(_agent, "/asked", _asked)
	every asked in [object.union(_asked, {"by": "daemon"}), object.union(_asked, {"uid": 0}), object.remove(_asked, ["by"]), object.remove(_asked, ["uid"])] {
		main.decision.verdict == "spare" with input as subjects.changed(_agent, "/asked", asked)
	}
	every path, value in {"/process/input_ended": false, "/process/output_ended": false, "/process/tty": "pts/4", "/lineage/peers": [{"pid": 5, "name": "zed"}]} {
		main.decision.verdict == "spare" with input as subjects.changed(subjects.changed(_agent, "/asked", _asked), path, value)
	}
	every path in ["/process/input_ended", "/process/output_ended", "/process/tty", "/lineage/peers", "/host/uid"] {
		main.decision.verdict == "spare" with input as subjects.without(subjects.changed(_agent, "/asked", _asked), [path])
	}
}
