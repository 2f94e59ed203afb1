package policies.reap.sessions.idle_shell_test

import data.policies.lib.subjects_test as subjects
import data.policies.reap.sessions.idle_shell

test_an_idle_shell_in_scope_by_name_is_a_husk if {
	subjects.reasons(idle_shell.findings) == ["every pane of it is back at its own idle shell"] with input as subjects.session
	idle_shell.in_scope with input as subjects.session
}

test_an_idle_shell_in_scope_by_its_exact_name_is_a_husk if {
	subjects.reasons(idle_shell.findings) == ["every pane of it is back at its own idle shell"] with input as subjects.changed(subjects.session, "/session/name", "scratch")
	count(idle_shell.findings) == 0 with input as subjects.changed(subjects.session, "/session/name", "scratch-2")
}

test_an_idle_shell_that_a_registry_names_is_a_husk if {
	subjects.reasons(idle_shell.findings) == ["every pane of it is back at its own idle shell"] with input as subjects.finished
}

test_a_session_of_nobodys_is_out_of_scope if {
	count(idle_shell.findings) == 0 with input as subjects.changed(subjects.session, "/session/name", "mine")
	not idle_shell.in_scope with input as subjects.changed(subjects.session, "/session/name", "mine")
}

test_an_entry_that_only_shares_a_path_puts_nothing_in_scope if {
	not idle_shell.in_scope with input as subjects.changed(subjects.finished, "/entries/0/by", "path")
}

test_an_empty_prefix_puts_nothing_in_scope if {
	not idle_shell.in_scope with input as json.patch(subjects.session, [{"op": "add", "path": "/session/name", "value": "mine"}, {"op": "add", "path": "/config/session_names", "value": {"exact": [""], "prefix": [""]}}])
}

test_an_editor_is_no_shell if {
	count(idle_shell.findings) == 0 with input as subjects.changed(subjects.session, "/session/panes/0/foreground/0/name", "vim")
}

test_a_job_in_the_foreground_is_work if {
	count(idle_shell.findings) == 0 with input as subjects.changed(subjects.session, "/session/panes/0/foreground_pgid", 900)
	count(idle_shell.findings) == 0 with input as subjects.changed(subjects.session, "/session/panes/0/foreground/1", {"pid": 813, "name": "cat"})
}

test_a_shell_of_another_pid_is_work if {
	count(idle_shell.findings) == 0 with input as subjects.changed(subjects.session, "/session/panes/0/foreground/0/pid", 900)
}

test_a_background_job_is_work if {
	count(idle_shell.findings) == 0 with input as json.patch(subjects.session, [{"op": "add", "path": "/session/panes/0/session_pids", "value": [812, 813]}, {"op": "add", "path": "/session/panes/0/session/1", "value": {"pid": 813, "name": "sh"}}])
}

test_a_member_without_a_name_is_work if {
	count(idle_shell.findings) == 0 with input as subjects.changed(subjects.session, "/session/panes/0/session_pids", [812, 813])
}

test_a_prompt_daemon_is_no_work if {
	subjects.reasons(idle_shell.findings) == ["every pane of it is back at its own idle shell"] with input as json.patch(subjects.session, [{"op": "add", "path": "/session/panes/0/session_pids", "value": [812, 813]}, {"op": "add", "path": "/session/panes/0/session/1", "value": {"pid": 813, "name": "gitstatusd"}}])
}

test_a_child_that_left_the_session_is_work if {
	count(idle_shell.findings) == 0 with input as subjects.changed(subjects.session, "/session/panes/0/descendants", [{"pid": 813, "name": "node"}])
}

test_a_dead_pane_is_no_idle_shell if {
	count(idle_shell.findings) == 0 with input as subjects.changed(subjects.session, "/session/panes/0/dead", true)
}

test_one_busy_pane_of_two_is_work if {
	count(idle_shell.findings) == 0 with input as subjects.changed(subjects.session, "/session/panes/1", object.union(subjects.idle_pane, {"foreground_pgid": 5}))
	subjects.reasons(idle_shell.findings) == ["every pane of it is back at its own idle shell"] with input as subjects.changed(subjects.session, "/session/panes/1", subjects.idle_pane)
}

test_a_session_without_panes_is_no_husk if {
	count(idle_shell.findings) == 0 with input as subjects.changed(subjects.session, "/session/panes", [])
}

test_a_script_is_no_idle_shell if {
	count(idle_shell.findings) == 0 with input as subjects.changed(subjects.session, "/session/panes/0/session/0/interactive", false)
}

test_a_missing_fact_is_no_husk if {
	every path in ["/session/panes/0/session/0/interactive", "/session/panes/0/shell_pid", "/session/panes/0/foreground_pgid", "/session/panes/0/foreground", "/session/panes/0/session", "/session/panes/0/session_pids", "/session/panes/0/dead", "/session/panes", "/session/name", "/session", "/config/shells", "/config/session_names", "/config"] {
		count(idle_shell.findings) == 0 with input as subjects.without(subjects.session, [path])
	}
}
