package policies.protect.unknown_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.unknown

test_everything_was_read if {
	count(unknown.objections) == 0 with input as subjects.dir
	count(unknown.objections) == 0 with input as subjects.session
	count(unknown.objections) == 0 with input as subjects.process
	count(unknown.objections) == 0 with input as subjects.empty
	count(unknown.objections) == 0 with input as subjects.finished
	count(unknown.objections) == 0 with input as subjects.tab
	count(unknown.objections) == 0 with input as subjects.deleted
	count(unknown.objections) == 0 with input as subjects.runaway
	every terminal in subjects.terminals {
		count(unknown.objections) == 0 with input as terminal
	}
}

test_a_process_that_was_read_in_part_keeps if {
	partial := subjects.changed(subjects.without(subjects.process, ["/identity"]), "/process/partial", true)
	[objection.evidence | some objection in unknown.objections with input as partial] == [{"partial": true}]
	subjects.reasons(unknown.objections) == ["its identity could not be read whole"] with input as subjects.without(subjects.process, ["/identity"])
	count(unknown.objections) == 0 with input as subjects.changed(subjects.process, "/process/partial", false)
}

test_a_terminal_of_a_tower_that_is_not_there_keeps if {
	every status, reasons in {
		"absent": ["codev/default could not be read: absent", "its source could not be read whole"],
		"failed": ["codev/default could not be read: failed", "its source could not be read whole"],
	} {
		subjects.reasons(unknown.objections) == reasons with input as json.patch(subjects.terminal, [
			{"op": "add", "path": "/evidence_sources/codev~1default", "value": status},
			{"op": "add", "path": "/source/status", "value": status},
		])
		some objection in unknown.objections with input as subjects.changed(subjects.terminal, "/evidence_sources/codev~1default", status)
		objection.evidence == {"source": "codev/default", "status": status}
	}
}

test_a_terminal_that_was_not_read_keeps if {
	every path in ["/terminal/listed", "/terminal/pid", "/terminal/start_ticks", "/terminal/below", "/terminal"] {
		some objection in unknown.objections with input as subjects.without(subjects.terminal, [path])
		objection.message == "whether its Tower lists it, which process is its own or what lives below that could not be read"
	}
}

test_a_terminal_with_an_error_keeps if {
	some objection in unknown.objections with input as subjects.changed(subjects.ended, "/terminal/error", "whether pid 6101 belongs to this terminal is unknown")
	objection.message == "not all of the terminal could be read: whether pid 6101 belongs to this terminal is unknown"
	objection.evidence == {"listed": true}
}

test_a_session_with_an_error_keeps if {
	some objection in unknown.objections with input as subjects.changed(subjects.session, "/session/error", "its name holds a tab")
	objection.message == "not all of the session could be read: its name holds a tab"
}

test_a_terminal_in_which_something_runs_was_read if {
	count(unknown.objections) == 0 with input as subjects.changed(subjects.terminal, "/idle", 1)
}

test_a_failed_source_keeps_and_is_named if {
	some objection in unknown.objections with input as subjects.changed(subjects.dir, "/evidence_sources/registry~1workers", "failed")
	objection.evidence == {"source": "registry/workers", "status": "failed"}
}

test_a_registry_that_is_not_there_keeps if {
	subjects.reasons(unknown.objections) == ["registry/workers could not be read: absent"] with input as subjects.changed(subjects.dir, "/evidence_sources/registry~1workers", "absent")
}

test_a_socket_without_a_server_is_no_gap if {
	count(unknown.objections) == 0 with input as subjects.changed(subjects.process, "/evidence_sources/tmux~1default", "absent")
	count(unknown.objections) == 0 with input as subjects.changed(subjects.process, "/evidence_sources/herdr~1default", "absent")
}

test_a_server_that_does_not_answer_is_a_gap if {
	subjects.reasons(unknown.objections) == ["tmux/default could not be read: failed"] with input as subjects.changed(subjects.process, "/evidence_sources/tmux~1default", "failed")
	subjects.reasons(unknown.objections) == ["herdr/default could not be read: failed"] with input as subjects.changed(subjects.process, "/evidence_sources/herdr~1default", "failed")
}

test_an_own_source_that_is_not_ok_keeps if {
	subjects.reasons(unknown.objections) == ["its source could not be read whole"] with input as subjects.changed(subjects.session, "/source/status", "absent")
}

test_what_is_not_told_keeps if {
	every path, what in {
		"/identity": "its identity", "/source": "its source", "/source/status": "its source", "/evidence_sources/proc": "the list of processes",
		"/evidence_sources/ledger": "the ledger", "/evidence_sources": "the ledger and the list of processes",
	} {
		subjects.reasons(unknown.objections) == [$"{what} could not be read whole"] with input as subjects.without(subjects.dir, [path])
	}
}

test_a_pane_that_was_not_read_keeps_its_tab if {
	every path in ["/tab/panes/0/shell_pid", "/tab/panes/0/foreground_pgid", "/tab/panes/0/foreground", "/tab/panes/0/session", "/tab/panes/0/session_pids", "/tab/panes/0/agent_status", "/tab/panes", "/tab/pane_count", "/tab"] {
		some objection in unknown.objections with input as subjects.without(subjects.tab, [path])
		objection.message == "what runs in one of its panes could not be read"
	}
}

test_a_pane_with_an_error_keeps_its_tab if {
	some objection in unknown.objections with input as subjects.changed(subjects.tab, "/tab/panes/0/error", "pane_not_found")
	objection.message == "what runs in the pane w1:p4 could not be read: pane_not_found"
	objection.evidence == {"pane_count": 1, "panes": ["w1:p4"], "read": []}
}

test_an_empty_list_of_processes_was_not_read if {
	every list in ["foreground", "session", "session_pids"] {
		subjects.reasons(unknown.objections) == ["what runs in one of its panes could not be read"] with input as subjects.changed(subjects.tab, concat("", ["/tab/panes/0/", list]), [])
	}
}

test_a_pane_that_is_not_listed_was_not_read if {
	subjects.reasons(unknown.objections) == ["what runs in one of its panes could not be read"] with input as subjects.changed(subjects.tab, "/tab/pane_count", 2)
	subjects.reasons(unknown.objections) == ["what runs in one of its panes could not be read"] with input as json.patch(subjects.tab, [{"op": "add", "path": "/tab/panes", "value": []}, {"op": "add", "path": "/tab/pane_count", "value": 0}])
}

test_a_pane_that_runs_something_was_read if {
	count(unknown.objections) == 0 with input as json.patch(subjects.tab, [
		{"op": "add", "path": "/tab/panes/0/foreground_pgid", "value": 900},
		{"op": "add", "path": "/tab/panes/0/foreground", "value": [{"pid": 900, "name": "claude"}]},
		{"op": "add", "path": "/tab/panes/0/agent_status", "value": "working"},
	])
}

_recorded := subjects.changed(subjects.dir, "/dir/path", "/w/.worktrees/acme-7")

_read(records) := subjects.changed(_recorded, "/records_read", records)

test_a_recorded_folder_takes_its_records if {
	some objection in unknown.objections with input as _recorded
	objection.message == "it lies where flock keeps its worktrees, and the records of flock were not read"
	count(unknown.objections) == 0 with input as _read(["registry:flock", "spawns:flock"])
}

test_half_of_the_records_are_not_enough if {
	every records in [[], ["spawns:flock"], ["registry:flock"], ["registry:json", "spawns:json"], ["registry:flock2", "spawns:flock2"]] {
		subjects.reasons(unknown.objections) == ["it lies where flock keeps its worktrees, and the records of flock were not read"] with input as _read(records)
	}
}

test_the_recorded_folder_itself_and_what_is_deep_in_it_are_meant if {
	every path in ["/w/.worktrees", "/.worktrees/x", "/w/.worktrees/a/b"] {
		subjects.reasons(unknown.objections) == ["it lies where flock keeps its worktrees, and the records of flock were not read"] with input as subjects.changed(subjects.dir, "/dir/path", path)
	}
}

test_a_name_that_only_begins_or_ends_like_it_is_another if {
	every path in ["/w/.worktrees-2/x", "/w/my.worktrees/x", "/w/worktrees/x"] {
		count(unknown.objections) == 0 with input as subjects.changed(subjects.dir, "/dir/path", path)
	}
}

test_a_folder_whose_path_is_not_known_stays if {
	every path in ["/dir/path", "/dir"] {
		subjects.reasons(unknown.objections) == ["it lies where flock keeps its worktrees, and the records of flock were not read"] with input as subjects.without(subjects.dir, [path])
	}
	subjects.reasons(unknown.objections) == ["it lies where flock keeps its worktrees, and the records of flock were not read"] with input as subjects.changed(subjects.dir, "/dir/path", "")
}

test_each_of_several_recorded_folders_counts if {
	two := subjects.changed(_read(["registry:flock", "spawns:flock"]), "/config/recorded_folders/1", {"name": ".worktrees", "format": "herd"})
	some objection in unknown.objections with input as two
	objection.evidence == {"name": ".worktrees", "format": "herd"}
}

test_a_process_in_a_recorded_folder_is_another_matter if {
	count(unknown.objections) == 0 with input as subjects.deleted
}

test_an_editors_tab_is_known_by_what_stands_behind_it if {
	every tab in subjects.editor_tabs {
		count(unknown.objections) == 0 with input as tab
	}
	every path in ["/shown/ended", "/tab/editor/session", "/tab/editor/error"] {
		subjects.reasons(unknown.objections) == ["whether its process, or what it shows, has ended could not be read"] with input as subjects.without(subjects.editor_tab, [path])
	}
	every path in ["/shown/recorded", "/shown/worktree", "/shown/sessions"] {
		subjects.reasons(unknown.objections) == ["whether its process, or what it shows, has ended could not be read"] with input as subjects.without(subjects.builder_tab, [path])
	}
	subjects.reasons(unknown.objections) == ["not all of the tab could be read: no"] with input as subjects.changed(subjects.editor_tab, "/tab/editor/error", "no")
}

test_a_builders_tab_needs_a_workspace_of_codevs if {
	subjects.reasons(unknown.objections) == ["the window has no workspace of Codev's open, so where its builder would be is not known"] with input as subjects.without(subjects.builder_tab, ["/shown/workspaces", "/shown/recorded", "/shown/worktree", "/shown/sessions"])
}

test_a_builders_tab_rests_on_the_tower if {
	subjects.reasons(unknown.objections) == ["codev/default could not be read: failed"] with input as subjects.changed(subjects.builder_tab, "/evidence_sources/codev~1default", "failed")
}
