package policies.reap.processes.deleted_test

import data.policies.lib.subjects_test as subjects
import data.policies.reap.processes.deleted

test_a_process_in_a_deleted_worktree_may_go if {
	subjects.reasons(deleted.findings) == ["the worktree that it works in was deleted, and the process that started it is gone"] with input as subjects.deleted
	deleted.in_scope with input as subjects.deleted
}

test_it_takes_no_marker if {
	subjects.reasons(deleted.findings) == ["the worktree that it works in was deleted, and the process that started it is gone"] with input as subjects.without(subjects.deleted, ["/lineage/markers", "/lineage/multiplexer"])
}

test_a_service_manager_takes_in_orphans_too if {
	subjects.reasons(deleted.findings) == ["the worktree that it works in was deleted, and the process that started it is gone"] with input as subjects.changed(subjects.deleted, "/process/ppid", 900)
}

test_a_folder_that_is_there_is_out_of_scope if {
	not deleted.in_scope with input as subjects.changed(subjects.deleted, "/process/cwd_deleted", false)
	count(deleted.findings) == 0 with input as subjects.changed(subjects.deleted, "/process/cwd_deleted", false)
}

test_the_folder_must_be_a_whole_part_of_the_path_and_not_the_last if {
	every cwd in ["/w/acme (deleted)", "/w/my.worktrees/x", "/w/.worktrees-2/x", "/w/.worktrees", "/w/.worktrees (deleted)", "/w/xworktrees/x", ".worktrees/x"] {
		not deleted.in_scope with input as subjects.changed(subjects.deleted, "/process/cwd", cwd)
		count(deleted.findings) == 0 with input as subjects.changed(subjects.deleted, "/process/cwd", cwd)
	}
	every cwd in ["/w/.worktrees/x", "/w/.worktrees/x/deep/er (deleted)"] {
		subjects.reasons(deleted.findings) == ["the worktree that it works in was deleted, and the process that started it is gone"] with input as subjects.changed(subjects.deleted, "/process/cwd", cwd)
	}
}

test_an_empty_word_puts_nothing_in_scope if {
	not deleted.in_scope with input as json.patch(subjects.deleted, [{"op": "add", "path": "/config/worktree_folders", "value": [""]}, {"op": "add", "path": "/process/cwd", "value": "/w//x"}])
}

test_a_process_with_a_parent_is_nobodys_orphan if {
	count(deleted.findings) == 0 with input as subjects.changed(subjects.deleted, "/process/ppid", 777)
}

test_in_a_container_pid_1_proves_nothing if {
	count(deleted.findings) == 0 with input as subjects.changed(subjects.deleted, "/host/container", true)
}

test_an_agent_stays if {
	count(deleted.findings) == 0 with input as subjects.changed(subjects.deleted, "/lineage/is_agent", true)
}

test_a_missing_fact_is_no_reason if {
	every path in ["/process/ppid", "/process/cwd", "/process/cwd_deleted", "/process", "/lineage", "/lineage/is_agent", "/host/orphan_parents", "/host/container", "/host", "/age", "/config/worktree_folders", "/config"] {
		count(deleted.findings) == 0 with input as subjects.without(subjects.deleted, [path])
	}
}

test_what_an_interpreter_runs_has_to_be_known if {
	count(deleted.findings) == 0 with input as subjects.unidentified(subjects.deleted)
}
