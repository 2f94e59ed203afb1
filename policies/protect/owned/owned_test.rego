package policies.protect.owned_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.owned

test_what_nobody_recorded_has_no_owner if {
	count(owned.objections) == 0 with input as subjects.dir
	count(owned.objections) == 0 with input as subjects.session
	count(owned.objections) == 0 with input as subjects.process
	count(owned.objections) == 0 with input as subjects.tab
	count(owned.objections) == 0 with input as subjects.deleted
	count(owned.objections) == 0 with input as subjects.runaway
}

test_an_entry_that_is_over_lets_go if {
	count(owned.objections) == 0 with input as subjects.finished
}

test_an_open_spawn_keeps_however_old_it_is if {
	subjects.reasons(owned.objections) == ["a spawn ledger says that it is in use"] with input as subjects.changed(subjects.dir, "/spawns", [{"source": "spawns/builds", "id": "b1", "by": "path", "age": 9000000}])
}

test_a_spawn_that_has_only_just_completed_keeps if {
	subjects.reasons(owned.objections) == ["a spawn of it was completed 14m59s ago; it waits for 15m"] with input as subjects.changed(subjects.dir, "/spawns", [{"source": "spawns/builds", "by": "path", "completed": 899}])
}

test_a_spawn_that_completed_long_ago_lets_go if {
	count(owned.objections) == 0 with input as subjects.changed(subjects.dir, "/spawns", [{"source": "spawns/builds", "by": "path", "completed": 900}])
}

test_one_open_spawn_of_two_keeps if {
	subjects.reasons(owned.objections) == ["a spawn ledger says that it is in use"] with input as subjects.changed(subjects.dir, "/spawns", [{"source": "s", "completed": 900, "by": "path"}, {"source": "s", "by": "path"}])
}

test_an_open_spawn_whose_owner_is_over_lets_go if {
	count(owned.objections) == 0 with input as subjects.changed(subjects.finished, "/spawns", [{"source": "spawns/builds", "id": "w7", "by": "session"}])
}

test_an_open_spawn_of_another_owner_keeps if {
	subjects.reasons(owned.objections) == ["a spawn ledger says that it is in use"] with input as subjects.changed(subjects.finished, "/spawns", [{"source": "spawns/builds", "id": "w8", "by": "session"}])
}

test_two_missing_ids_are_not_the_same_owner if {
	subjects.reasons(owned.objections) == ["a spawn ledger says that it is in use"] with input as json.patch(subjects.finished, [{"op": "add", "path": "/spawns", "value": [{"source": "s", "by": "session"}]}, {"op": "remove", "path": "/entries/0/id"}])
}

test_a_live_entry_keeps if {
	subjects.reasons(owned.objections) == ["a registry records an owner of it that has not ended"] with input as subjects.changed(subjects.finished, "/entries/0/status", "working")
}

test_an_entry_of_unknown_status_keeps if {
	subjects.reasons(owned.objections) == ["a registry records an owner of it that has not ended"] with input as subjects.without(subjects.finished, ["/entries/0/status"])
}

test_a_record_that_says_it_is_live_keeps_whatever_its_status if {
	subjects.reasons(owned.objections) == ["a registry records an owner of it that has not ended"] with input as subjects.changed(subjects.finished, "/entries/0/terminal", false)
}

test_a_record_that_says_it_is_over_lets_go_whatever_its_status if {
	count(owned.objections) == 0 with input as json.patch(subjects.finished, [{"op": "add", "path": "/entries/0/terminal", "value": true}, {"op": "add", "path": "/entries/0/status", "value": "odd"}])
}

test_an_empty_status_is_no_terminal_word if {
	subjects.reasons(owned.objections) == ["a registry records an owner of it that has not ended"] with input as subjects.changed(subjects.finished, "/entries/0/status", "")
}

_spawned(spawn, owners) := json.patch(subjects.dir, [{"op": "add", "path": "/spawns", "value": [spawn]}, {"op": "add", "path": "/entries", "value": owners}])

_open := {"source": "spawns/flock", "id": "r1", "owner": "s1", "by": "path", "age": 9000000}

_over := {"source": "registry/flock", "id": "s1", "by": "spawn", "terminal": true}

test_a_spawn_whose_owner_is_over_lets_go if {
	count(owned.objections) == 0 with input as _spawned(_open, [_over])
	count(owned.objections) == 0 with input as _spawned(object.union(_open, {"completed": 10}), [_over])
}

test_a_spawn_that_has_only_just_begun_keeps_though_its_owner_is_over if {
	subjects.reasons(owned.objections) == ["a spawn ledger says that it is in use"] with input as _spawned(object.union(_open, {"age": 899}), [_over])
	count(owned.objections) == 0 with input as _spawned(object.union(_open, {"age": 900}), [_over])
}

test_an_owner_who_is_not_over_keeps_its_spawn_and_owns_nothing_itself if {
	every owner in [object.union(_over, {"terminal": false}), json.remove(_over, ["/terminal"]), object.union(_over, {"id": "s2"})] {
		some objection in owned.objections with input as _spawned(_open, [owner])
		objection.message == "a spawn ledger says that it is in use"
		objection.evidence == {"source": "spawns/flock", "id": "r1"}
		subjects.reasons(owned.objections) == ["a spawn ledger says that it is in use"] with input as _spawned(_open, [owner])
	}
}

test_an_owner_of_whom_there_is_no_record_keeps if {
	subjects.reasons(owned.objections) == ["a spawn ledger says that it is in use"] with input as _spawned(_open, [])
	subjects.reasons(owned.objections) == ["a spawn ledger says that it is in use"] with input as json.remove(_spawned(_open, [_over]), ["/entries"])
}

test_of_several_entries_of_an_owner_every_one_must_be_over if {
	subjects.reasons(owned.objections) == ["a spawn ledger says that it is in use"] with input as _spawned(_open, [_over, object.union(_over, {"source": "registry/two", "terminal": false})])
	count(owned.objections) == 0 with input as _spawned(_open, [_over, object.union(_over, {"source": "registry/two"})])
}

test_that_holds_for_a_spawn_and_its_own_record_too if {
	own := object.union(_open, {"id": "s1", "owner": ""})
	subjects.reasons(owned.objections) == ["a spawn ledger says that it is in use"] with input as _spawned(own, [_over, object.union(_over, {"source": "registry/two", "terminal": false})])
	count(owned.objections) == 0 with input as _spawned(own, [_over])
}

test_a_spawn_without_an_owner_or_an_age_keeps if {
	every patch in [{"op": "remove", "path": "/spawns/0/owner"}, {"op": "replace", "path": "/spawns/0/owner", "value": ""}, {"op": "remove", "path": "/spawns/0/age"}] {
		subjects.reasons(owned.objections) == ["a spawn ledger says that it is in use"] with input as json.patch(_spawned(_open, [_over]), [patch])
	}
	subjects.reasons(owned.objections) == ["a spawn ledger says that it is in use"] with input as json.patch(_spawned(object.union(_open, {"owner": ""}), [object.union(_over, {"id": ""})]), [])
}

test_an_entry_of_a_tie_that_is_not_known_keeps if {
	subjects.reasons(owned.objections) == ["a registry records an owner of it that has not ended"] with input as subjects.changed(subjects.dir, "/entries", [{"source": "registry/flock", "id": "s1"}])
}

test_a_session_of_a_disposable_name_keeps_its_folder_over_or_not if {
	every terminal in [true, false] {
		some objection in owned.objections with input as subjects.changed(subjects.empty, "/entries", [{"source": "registry/flock", "id": "s1", "by": "path", "path": "/w/x-review-1a2b3c4d", "terminal": terminal}])
		objection.message == "a registry records this folder as an owner's, so it is not disposable"
	}
}

test_a_folder_of_another_name_is_let_go_when_its_owner_is_over if {
	entries := [{"source": "registry/flock", "id": "s1", "by": "path", "path": "/w/feature", "terminal": true}]
	count(owned.objections) == 0 with input as subjects.changed(subjects.dir, "/entries", entries)
	subjects.reasons(owned.objections) == ["a registry records this folder as an owner's, so it is not disposable"] with input as json.remove(subjects.changed(subjects.dir, "/entries", entries), ["/dir/name"])
}

test_the_owner_of_a_spawn_does_not_own_a_disposable_folder if {
	count(owned.objections) == 0 with input as json.patch(subjects.empty, [{"op": "add", "path": "/spawns", "value": [_open]}, {"op": "add", "path": "/entries", "value": [_over]}])
}

test_a_live_entry_of_a_pane_or_a_tab_keeps_the_tab if {
	every by in ["pane", "tab"] {
		subjects.reasons(owned.objections) == ["a registry records an owner of it that has not ended"] with input as subjects.changed(subjects.tab, "/entries", [{"source": "registry/flock", "id": "s1", "by": by, "terminal": false}])
		count(owned.objections) == 0 with input as subjects.changed(subjects.tab, "/entries", [{"source": "registry/flock", "id": "s1", "by": by, "terminal": true}])
	}
}

_stands := subjects.changed(subjects.runaway, "/entries/1", {"source": "registry/flock", "id": "s2", "by": "path", "terminal": false})

test_whose_folder_a_marked_process_stands_in_does_not_matter if {
	count(owned.objections) == 0 with input as _stands
	count(owned.objections) == 0 with input as subjects.without(_stands, ["/entries_known"])
	count(owned.objections) == 1 with input as subjects.without(_stands, ["/spawns_known"])
}

test_it_matters_where_the_marker_may_have_been_handed_down if {
	subjects.reasons(owned.objections) == ["a registry records an owner of it that has not ended"] with input as subjects.changed(_stands, "/lineage/multiplexer", true)
	subjects.reasons(owned.objections) == ["a registry records an owner of it that has not ended"] with input as json.patch(_stands, [{"op": "add", "path": "/lineage/multiplexer", "value": true}, {"op": "add", "path": "/lineage/multiplexer_marked", "value": true}])
	count(owned.objections) == 0 with input as json.patch(_stands, [{"op": "add", "path": "/lineage/multiplexer", "value": true}, {"op": "add", "path": "/lineage/multiplexer_marked", "value": false}])
}

test_it_matters_where_the_markers_owner_is_not_over if {
	subjects.reasons(owned.objections) == ["a registry records an owner of it that has not ended", "a registry records an owner of it that has not ended"] with input as subjects.changed(_stands, "/entries/0/terminal", false)
	subjects.reasons(owned.objections) == ["a registry records an owner of it that has not ended"] with input as subjects.without(_stands, ["/entries/0"])
}

test_it_matters_where_the_marker_identifies_nobody if {
	subjects.reasons(owned.objections) == ["a registry records an owner of it that has not ended"] with input as subjects.changed(_stands, "/process/markers", {"CLAUDECODE": "s1"})
}

test_whose_folder_an_unmarked_process_stands_in_keeps_it if {
	subjects.reasons(owned.objections) == ["a registry records an owner of it that has not ended"] with input as subjects.changed(subjects.deleted, "/entries", [{"source": "registry/flock", "id": "s2", "by": "path", "terminal": false}])
	count(owned.objections) == 0 with input as subjects.changed(subjects.deleted, "/entries", [{"source": "registry/flock", "id": "s2", "by": "path", "terminal": true}])
}

test_a_pid_of_a_live_owner_keeps_a_marked_process_too if {
	subjects.reasons(owned.objections) == ["a registry records an owner of it that has not ended"] with input as subjects.changed(_stands, "/entries/1/by", "pid")
}

test_two_empty_ids_are_not_the_same_owner if {
	subjects.reasons(owned.objections) == ["a spawn ledger says that it is in use"] with input as _spawned({"source": "s", "id": "", "by": "path", "age": 9000000}, [object.union(_over, {"id": ""})])
}

_stranger := subjects.changed(subjects.process, "/lineage/strangers", ["FLOCK_SESSION"])

test_a_session_that_no_registry_here_knows_keeps_its_processes if {
	some objection in owned.objections with input as _stranger
	objection.message == "FLOCK_SESSION names a session that no registry here knows: another instance may own it"
	objection.evidence == {"markers": {"FLOCK_SESSION"}, "registries": {"flock"}, "read": set()}
}

test_that_a_registry_was_read_does_not_make_up_for_it if {
	some objection in owned.objections with input as subjects.changed(_stranger, "/records_read", ["registry:flock"])
	objection.evidence.read == {"flock"}
}

test_such_a_session_counts_for_nothing_once_its_agent_is_positively_gone if {
	count(owned.objections) == 0 with input as subjects.changed(_stranger, "/lineage/starter_gone", true)
	subjects.reasons(owned.objections) == ["FLOCK_SESSION names a session that no registry here knows: another instance may own it"] with input as subjects.changed(_stranger, "/lineage/starter_gone", false)
}

test_whether_its_session_is_on_record_has_to_be_known if {
	subjects.reasons(owned.objections) == ["whether it belongs to a session that another instance has on record is not known"] with input as subjects.without(subjects.process, ["/lineage/strangers"])
	count(owned.objections) == 2 with input as subjects.without(subjects.process, ["/lineage"])
}

_claude := {"pid": 4242, "name": "claude"}

_suspected := json.patch(subjects.process, [
	{"op": "add", "path": "/lineage/agents", "value": 1},
	{"op": "add", "path": "/lineage/agent", "value": _claude},
])

test_a_living_agent_that_may_have_started_it_keeps_and_is_named if {
	some objection in owned.objections with input as _suspected
	objection.message == "claude (4242) runs and may own it; it may go once that ends"
	count(objection.evidence) == 2
	subjects.reasons(owned.objections) == ["claude (4242) runs and may own it; it may go once that and 2 more end"] with input as subjects.changed(_suspected, "/lineage/agents", 3)
}

test_what_may_be_an_agent_and_does_not_show_it_keeps_and_is_named if {
	veiled := subjects.changed(subjects.without(subjects.process, ["/lineage/agents"]), "/lineage/possible_agent", {"pid": 50, "name": "node"})
	subjects.reasons(owned.objections) == ["node (50) may be an agent, does not show it, and may own it"] with input as veiled
}

test_whether_such_an_agent_lives_has_to_be_known if {
	every path in ["/lineage/agents", "/lineage"] {
		"whether an agent lives that may have started it is not known" in subjects.reasons(owned.objections) with input as subjects.without(subjects.process, [path])
	}
}

test_a_living_agent_does_not_matter_to_what_no_agent_started if {
	count(owned.objections) == 0 with input as subjects.changed(_suspected, "/lineage/markers", [])
	count(owned.objections) == 1 with input as subjects.without(_suspected, ["/lineage/markers"])
	count(owned.objections) == 1 with input as json.patch(_suspected, [
		{"op": "add", "path": "/lineage/markers", "value": []},
		{"op": "add", "path": "/lineage/seen", "value": [{"pid": 24, "start_ticks": 7, "name": "claude", "ago": 1}]},
	])
}

test_a_living_agent_does_not_matter_to_what_has_proof_of_its_own if {
	every subject in [subjects.deleted, subjects.runaway] {
		count(owned.objections) == 0 with input as json.patch(subject, [
			{"op": "add", "path": "/lineage/markers", "value": ["AGENT_SESSION"]},
			{"op": "add", "path": "/lineage/agents", "value": 1},
		])
	}
	every path in ["/host/container", "/host/orphan_parents", "/process/ppid", "/process/cwd_deleted"] {
		count(owned.objections) == 1 with input as json.patch(subjects.deleted, [
			{"op": "add", "path": "/lineage/markers", "value": ["AGENT_SESSION"]},
			{"op": "add", "path": "/lineage/agents", "value": 1},
			{"op": "remove", "path": path},
		])
	}
	count(owned.objections) == 1 with input as json.patch(subjects.runaway, [
		{"op": "add", "path": "/lineage/agents", "value": 1},
		{"op": "add", "path": "/process/listening", "value": [{"port": 8080}]},
	])
}

test_what_has_no_known_folder_or_label_may_be_a_recorded_owners if {
	every thing in [subjects.process, subjects.session, subjects.tab] {
		count(owned.objections) == 0 with input as thing
		every fact in ["/spawns_known", "/entries_known"] {
			subjects.reasons(owned.objections) == ["whether a record names its folder or its label is not known: one of them could not be read"] with input as subjects.without(thing, [fact])
		}
	}
}
