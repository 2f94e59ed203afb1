package policies.reap.processes.runaway_test

import data.policies.lib.subjects_test as subjects
import data.policies.reap.processes.runaway

test_a_busy_process_of_an_owner_who_is_over_may_go if {
	some finding in runaway.findings with input as subjects.runaway
	finding.evidence == {"owners": {"s1"}, "age": 7200, "cpu": 7000, "busy": 0.97}
	runaway.in_scope with input as subjects.runaway
}

test_a_marker_that_identifies_nobody_is_out_of_scope if {
	not runaway.in_scope with input as subjects.changed(subjects.runaway, "/process/markers", {"CLAUDECODE": "1"})
	not runaway.in_scope with input as subjects.changed(subjects.runaway, "/process/markers", {"AGENT_SESSION": ""})
	not runaway.in_scope with input as subjects.without(subjects.runaway, ["/process/markers"])
}

test_an_agent_is_out_of_scope if {
	not runaway.in_scope with input as subjects.changed(subjects.runaway, "/lineage/is_agent", true)
	count(runaway.findings) == 0 with input as subjects.changed(subjects.runaway, "/lineage/is_agent", true)
}

test_it_must_be_old_enough if {
	subjects.reasons(runaway.findings) == ["its owner has ended, and it has kept a processor busy ever since it was started"] with input as subjects.changed(subjects.runaway, "/age", 300)
	count(runaway.findings) == 0 with input as subjects.changed(subjects.runaway, "/age", 299)
}

test_it_must_be_busy_enough if {
	subjects.reasons(runaway.findings) == ["its owner has ended, and it has kept a processor busy ever since it was started"] with input as subjects.changed(subjects.runaway, "/busy", 0.8)
	count(runaway.findings) == 0 with input as subjects.changed(subjects.runaway, "/busy", 0.79)
}

test_a_listener_stays if {
	count(runaway.findings) == 0 with input as subjects.changed(subjects.runaway, "/process/listening", [5173])
	count(runaway.findings) == 0 with input as subjects.changed(subjects.runaway, "/lineage/sockets", ["@x"])
}

test_what_an_interpreter_runs_need_not_be_known if {
	subjects.reasons(runaway.findings) == ["its owner has ended, and it has kept a processor busy ever since it was started"] with input as subjects.unidentified(subjects.runaway)
	count(runaway.findings) == 0 with input as subjects.without(subjects.unidentified(subjects.runaway), ["/process/exe"])
	count(runaway.findings) == 0 with input as subjects.without(subjects.unidentified(subjects.runaway), ["/lineage/unidentified"])
}

test_only_an_owner_who_is_over_counts if {
	every patch in [{"op": "add", "path": "/entries/0/terminal", "value": false}, {"op": "remove", "path": "/entries"}, {"op": "add", "path": "/entries", "value": []}] {
		count(runaway.findings) == 0 with input as json.patch(subjects.runaway, [patch])
	}
}

test_a_word_that_nobody_listed_is_not_over if {
	count(runaway.findings) == 0 with input as subjects.without(subjects.runaway, ["/entries/0/terminal"])
	subjects.reasons(runaway.findings) == ["its owner has ended, and it has kept a processor busy ever since it was started"] with input as json.patch(subjects.runaway, [{"op": "remove", "path": "/entries/0/terminal"}, {"op": "replace", "path": "/entries/0/status", "value": "completed"}])
}

test_every_owner_that_a_marker_names_must_be_over if {
	count(runaway.findings) == 0 with input as subjects.changed(subjects.runaway, "/entries/1", {"source": "registry/two", "id": "s1", "marker": "s1", "by": "marker", "terminal": false})
	subjects.reasons(runaway.findings) == ["its owner has ended, and it has kept a processor busy ever since it was started"] with input as subjects.changed(subjects.runaway, "/entries/1", {"source": "registry/two", "id": "s1", "marker": "s1", "by": "marker", "terminal": true})
}

test_an_entry_that_another_kind_of_marker_leads_to_proves_nothing if {
	count(runaway.findings) == 0 with input as json.patch(subjects.runaway, [{"op": "add", "path": "/process/markers/CLAUDECODE", "value": "1"}, {"op": "add", "path": "/entries/0/marker", "value": "1"}])
}

test_an_entry_that_only_shares_its_folder_proves_nothing if {
	every by in ["path", "pid", "spawn", "session"] {
		count(runaway.findings) == 0 with input as subjects.changed(subjects.runaway, "/entries/0/by", by)
	}
}

test_an_entry_by_its_folder_changes_nothing if {
	subjects.reasons(runaway.findings) == ["its owner has ended, and it has kept a processor busy ever since it was started"] with input as subjects.changed(subjects.runaway, "/entries/1", {"source": "registry/flock", "id": "s2", "by": "path", "terminal": false})
}

test_a_marker_that_a_multiplexer_hands_down_proves_nothing if {
	handed := subjects.changed(subjects.runaway, "/lineage/multiplexer", true)
	count(runaway.findings) == 0 with input as handed
	count(runaway.findings) == 0 with input as subjects.changed(handed, "/lineage/multiplexer_marked", true)
	subjects.reasons(runaway.findings) == ["its owner has ended, and it has kept a processor busy ever since it was started"] with input as subjects.changed(handed, "/lineage/multiplexer_marked", false)
}

test_a_folder_where_agents_work_does_not_make_up_for_it if {
	count(runaway.findings) == 0 with input as json.patch(subjects.runaway, [
		{"op": "add", "path": "/lineage/multiplexer", "value": true},
		{"op": "add", "path": "/lineage/multiplexer_marked", "value": true},
		{"op": "add", "path": "/lineage/agent_dir", "value": "/w/feature"},
		{"op": "add", "path": "/process/cwd_deleted", "value": true},
	])
}

test_neither_its_parent_nor_its_folder_matters if {
	subjects.reasons(runaway.findings) == ["its owner has ended, and it has kept a processor busy ever since it was started"] with input as subjects.without(subjects.runaway, ["/process/ppid", "/process/cwd", "/process/cwd_deleted"])
}

test_a_missing_fact_is_no_runaway if {
	every path in ["/age", "/busy", "/process/cpu", "/process/listening", "/lineage/sockets", "/process/markers", "/process", "/lineage/multiplexer", "/lineage/is_agent", "/lineage", "/entries/0/marker", "/entries/0/by", "/entries/0/terminal", "/entries", "/config/id_markers", "/config/runaway", "/config"] {
		count(runaway.findings) == 0 with input as subjects.without(subjects.runaway, [path])
	}
}
