package policies.reap.processes.orphan_test

import data.policies.lib.subjects_test as subjects
import data.policies.reap.processes.orphan

test_a_process_that_its_agent_left_behind_is_an_orphan if {
	subjects.reasons(orphan.findings) == ["its agent has ended"] with input as subjects.process
	orphan.in_scope with input as subjects.process
}

test_a_process_without_a_marker_is_out_of_scope if {
	count(orphan.findings) == 0 with input as subjects.changed(subjects.process, "/lineage/markers", [])
	not orphan.in_scope with input as subjects.changed(subjects.process, "/lineage/markers", [])
}

test_an_agent_is_out_of_scope if {
	count(orphan.findings) == 0 with input as subjects.changed(subjects.process, "/lineage/is_agent", true)
	not orphan.in_scope with input as subjects.changed(subjects.process, "/lineage/is_agent", true)
}

test_a_process_with_a_parent_is_no_orphan if {
	count(orphan.findings) == 0 with input as subjects.changed(subjects.process, "/process/ppid", 777)
}

test_a_service_manager_takes_in_orphans_too if {
	subjects.reasons(orphan.findings) == ["its agent has ended"] with input as subjects.changed(subjects.process, "/process/ppid", 900)
}

test_in_a_container_pid_1_proves_nothing if {
	count(orphan.findings) == 0 with input as subjects.changed(subjects.process, "/host/container", true)
}

test_a_living_agent_is_for_another_rule if {
	subjects.reasons(orphan.findings) == ["what started it has ended"] with input as subjects.changed(subjects.process, "/lineage/agents", 1)
	subjects.reasons(orphan.findings) == ["what started it has ended"] with input as subjects.without(subjects.process, ["/lineage/agents"])
}

_hinted := json.patch(subjects.process, [
	{"op": "replace", "path": "/lineage/markers", "value": ["CLAUDECODE"]},
	{"op": "replace", "path": "/lineage/identifying", "value": []},
])

test_a_flag_convicts_nobody if {
	orphan.in_scope with input as _hinted
	count(orphan.findings) == 0 with input as _hinted
	every path, value in {"/lineage/agent_dir": "/w/feature", "/process/cwd_deleted": true, "/lineage/added": [], "/lineage/starter_gone": true} {
		count(orphan.findings) == 0 with input as subjects.changed(_hinted, path, value)
	}
}

test_a_flag_that_the_pane_does_not_have_was_set_by_an_agent if {
	count(orphan.findings) == 1 with input as subjects.changed(_hinted, "/lineage/added", ["CLAUDECODE"])
}

test_a_server_that_only_agents_start_agrees_with_a_flag if {
	count(orphan.findings) == 1 with input as subjects.changed(_hinted, "/lineage/family", "mcp-server")
	count(orphan.findings) == 0 with input as subjects.changed(subjects.changed(_hinted, "/lineage/family", "mcp-server"), "/lineage/markers", [])
}

_remembered := json.patch(_hinted, [
	{"op": "add", "path": "/lineage/seen", "value": [{"pid": 24, "start_ticks": 7, "name": "claude", "gone": true, "ago": 600}]},
	{"op": "add", "path": "/lineage/seen_gone", "value": true},
])

test_what_a_look_saw_below_an_agent_is_its_orphan if {
	count(orphan.findings) == 1 with input as _remembered
	bare := subjects.changed(_remembered, "/lineage/markers", [])
	orphan.in_scope with input as bare
	count(orphan.findings) == 0 with input as bare
	count(orphan.findings) == 1 with input as subjects.changed(bare, "/lineage/family", "mcp-server")
	count(orphan.findings) == 1 with input as subjects.changed(bare, "/lineage/agent_dir", "/w/feature")
}

test_a_remembered_agent_that_lives_or_is_not_known_proves_nothing if {
	count(orphan.findings) == 0 with input as subjects.changed(_remembered, "/lineage/seen_gone", false)
	count(orphan.findings) == 0 with input as subjects.without(_remembered, ["/lineage/seen_gone"])
}

test_an_agent_above_keeps if {
	count(orphan.findings) == 0 with input as subjects.changed(subjects.process, "/lineage/agent_ancestor", true)
}

test_a_multiplexer_above_keeps if {
	count(orphan.findings) == 0 with input as subjects.changed(subjects.process, "/lineage/multiplexer_ancestor", true)
}

test_a_marker_that_the_multiplexer_hands_down_proves_nothing if {
	count(orphan.findings) == 0 with input as json.patch(subjects.process, [{"op": "add", "path": "/lineage/multiplexer", "value": true}, {"op": "add", "path": "/lineage/multiplexer_marked", "value": true}])
}

test_a_marker_that_the_multiplexer_does_not_have_counts if {
	subjects.reasons(orphan.findings) == ["its agent has ended"] with input as json.patch(subjects.process, [{"op": "add", "path": "/lineage/multiplexer", "value": true}, {"op": "add", "path": "/lineage/multiplexer_marked", "value": false}])
}

test_a_folder_where_agents_work_agrees if {
	subjects.reasons(orphan.findings) == ["its agent has ended"] with input as json.patch(subjects.process, [{"op": "add", "path": "/lineage/multiplexer", "value": true}, {"op": "add", "path": "/lineage/multiplexer_marked", "value": true}, {"op": "add", "path": "/lineage/agent_dir", "value": "/w/feature"}])
}

test_a_deleted_working_directory_agrees if {
	subjects.reasons(orphan.findings) == ["its agent has ended"] with input as json.patch(subjects.process, [{"op": "add", "path": "/lineage/multiplexer", "value": true}, {"op": "add", "path": "/lineage/multiplexer_marked", "value": true}, {"op": "add", "path": "/process/cwd_deleted", "value": true}])
}

test_a_multiplexer_of_which_little_is_known_proves_nothing if {
	count(orphan.findings) == 0 with input as subjects.changed(subjects.process, "/lineage/multiplexer", true)
}

test_a_missing_fact_is_no_orphan if {
	every path in ["/process/ppid", "/process", "/lineage", "/host/orphan_parents", "/host/container", "/host", "/lineage/is_agent", "/lineage/markers", "/lineage/identifying", "/lineage/multiplexer", "/lineage/agent_ancestor", "/lineage/multiplexer_ancestor"] {
		count(orphan.findings) == 0 with input as subjects.without(subjects.process, [path])
	}
}

test_what_an_interpreter_runs_has_to_be_known if {
	count(orphan.findings) == 0 with input as subjects.unidentified(subjects.process)
}
