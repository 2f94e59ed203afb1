package policies.reap.tabs.idle_shell_test

import data.policies.lib.subjects_test as subjects
import data.policies.reap.tabs.idle_shell

test_a_helpers_tab_of_idle_shells_is_a_husk if {
	some finding in idle_shell.findings with input as subjects.tab
	finding.evidence == {"label": "review TASK-7", "panes": ["w1:p4"], "taken_along": set(), "live_on": set()}
	idle_shell.in_scope with input as subjects.tab
}

test_an_exact_label_is_that_label_alone if {
	subjects.reasons(idle_shell.findings) == ["every pane of it is back at its own idle shell"] with input as subjects.changed(subjects.tab, "/tab/label", "rundown")
	every label in ["rundown-2", "rundown ", " rundown", "Rundown", "run"] {
		not idle_shell.in_scope with input as subjects.changed(subjects.tab, "/tab/label", label)
		count(idle_shell.findings) == 0 with input as subjects.changed(subjects.tab, "/tab/label", label)
	}
}

test_a_prefix_counts_with_its_space if {
	every label in ["review", "reviewing-pr", "Review TASK-7", " review TASK-7", "my review TASK-7"] {
		not idle_shell.in_scope with input as subjects.changed(subjects.tab, "/tab/label", label)
	}
}

test_an_empty_word_puts_nothing_in_scope if {
	every label in ["mine", "", "review TASK-7"] {
		not idle_shell.in_scope with input as json.patch(subjects.tab, [
			{"op": "add", "path": "/tab/label", "value": label},
			{"op": "add", "path": "/config/helper_labels", "value": {"exact": [""], "prefix": [""]}},
		])
	}
}

test_a_registry_entry_puts_no_tab_in_scope if {
	not idle_shell.in_scope with input as json.patch(subjects.tab, [
		{"op": "add", "path": "/tab/label", "value": "mine"},
		{"op": "add", "path": "/entries", "value": [{"source": "registry/flock", "id": "s1", "by": "tab", "status": "archived"}]},
	])
}

test_one_pane_that_works_is_work if {
	count(idle_shell.findings) == 0 with input as json.patch(subjects.tab, [
		{"op": "add", "path": "/tab/pane_count", "value": 2},
		{"op": "add", "path": "/tab/panes/1", "value": object.union(subjects.helper_pane, {"foreground_pgid": 900, "foreground": [{"pid": 900, "name": "claude"}]})},
	])
	subjects.reasons(idle_shell.findings) == ["every pane of it is back at its own idle shell"] with input as json.patch(subjects.tab, [
		{"op": "add", "path": "/tab/pane_count", "value": 2},
		{"op": "add", "path": "/tab/panes/1", "value": object.union(subjects.helper_pane, {"id": "w1:p5"})},
	])
}

test_a_shell_with_another_beside_it_in_front_is_work if {
	count(idle_shell.findings) == 0 with input as subjects.changed(subjects.tab, "/tab/panes/0/foreground", [{"pid": 812, "name": "zsh"}, {"pid": 813, "name": "bash"}])
}

test_a_pane_that_is_not_listed_is_no_husk if {
	every n in [0, 2, 3] {
		count(idle_shell.findings) == 0 with input as subjects.changed(subjects.tab, "/tab/pane_count", n)
	}
}

test_a_tab_without_panes_is_no_husk if {
	count(idle_shell.findings) == 0 with input as json.patch(subjects.tab, [{"op": "add", "path": "/tab/panes", "value": []}, {"op": "add", "path": "/tab/pane_count", "value": 0}])
}

test_a_script_is_no_idle_shell if {
	count(idle_shell.findings) == 0 with input as subjects.changed(subjects.tab, "/tab/panes/0/session/0/interactive", false)
}

test_a_missing_fact_is_no_husk if {
	every path in ["/tab/panes/0/session/0/interactive", "/tab/panes/0/shell_pid", "/tab/panes/0/foreground_pgid", "/tab/panes/0/foreground", "/tab/panes/0/session", "/tab/panes/0/session_pids", "/tab/panes/0/dead", "/tab/panes", "/tab/pane_count", "/tab/label", "/tab", "/config/shells", "/config/helper_labels", "/config"] {
		count(idle_shell.findings) == 0 with input as subjects.without(subjects.tab, [path])
	}
}
