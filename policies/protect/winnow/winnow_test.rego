package policies.protect.winnow_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.winnow

test_winnow_runs_elsewhere if {
	count(winnow.objections) == 0 with input as subjects.dir
	count(winnow.objections) == 0 with input as subjects.session
	count(winnow.objections) == 0 with input as subjects.process
	count(winnow.objections) == 0 with input as subjects.tab
	every terminal in subjects.terminals {
		count(winnow.objections) == 0 with input as terminal
	}
}

test_it_spares_itself if {
	subjects.reasons(winnow.objections) == ["Winnow itself runs in it"] with input as subjects.changed(subjects.process, "/process/pid", 4242)
}

test_it_spares_its_ancestors if {
	subjects.reasons(winnow.objections) == ["Winnow itself runs in it"] with input as subjects.changed(subjects.process, "/process/pid", 4240)
}

test_it_spares_the_session_that_it_runs_in if {
	subjects.reasons(winnow.objections) == ["Winnow itself runs in it"] with input as subjects.changed(subjects.session, "/session/panes/0/session_pids", [812, 4242])
	subjects.reasons(winnow.objections) == ["Winnow itself runs in it"] with input as subjects.changed(subjects.session, "/session/panes/0/session_pids", [4240])
	subjects.reasons(winnow.objections) == ["Winnow itself runs in it"] with input as subjects.changed(subjects.session, "/session/panes/0/descendants", [{"pid": 4242, "name": "winnow"}])
}

test_it_spares_the_folder_that_it_stands_in if {
	subjects.reasons(winnow.objections) == ["Winnow itself stands in it"] with input as subjects.changed(subjects.dir, "/host/cwd", "/w/feature")
	subjects.reasons(winnow.objections) == ["Winnow itself stands in it"] with input as subjects.changed(subjects.dir, "/host/cwd", "/w/feature/sub")
}

test_a_folder_with_a_longer_name_is_another_one if {
	count(winnow.objections) == 0 with input as subjects.changed(subjects.dir, "/host/cwd", "/w/feature-2")
}

test_a_process_stays_while_the_own_is_unknown if {
	every path in ["/host/pid", "/host/ancestors", "/process/pid", "/process"] {
		subjects.reasons(winnow.objections) == ["whether Winnow itself runs in it is not known"] with input as subjects.without(subjects.process, [path])
	}
}

test_a_folder_stays_while_the_own_is_unknown if {
	every path in ["/host/pid", "/host/cwd", "/dir/path"] {
		subjects.reasons(winnow.objections) == ["whether Winnow itself runs in it is not known"] with input as subjects.without(subjects.dir, [path])
	}
}

test_a_session_stays_while_its_members_are_unknown if {
	every path in ["/host/pid", "/host/ancestors", "/session/panes/0/session_pids", "/session/panes"] {
		subjects.reasons(winnow.objections) == ["whether Winnow itself runs in it is not known"] with input as subjects.without(subjects.session, [path])
	}
}

test_a_dead_pane_has_no_members if {
	count(winnow.objections) == 0 with input as json.patch(subjects.session, [{"op": "remove", "path": "/session/panes/0/session_pids"}, {"op": "add", "path": "/session/panes/0/dead", "value": true}])
}

test_it_spares_the_tab_that_it_runs_in if {
	subjects.reasons(winnow.objections) == ["Winnow itself runs in it"] with input as subjects.changed(subjects.tab, "/tab/own", true)
	subjects.reasons(winnow.objections) == ["Winnow itself runs in it"] with input as subjects.changed(subjects.tab, "/tab/panes/0/session_pids", [812, 4242])
	subjects.reasons(winnow.objections) == ["Winnow itself runs in it"] with input as subjects.changed(subjects.tab, "/tab/panes/0/session_pids", [4240])
	subjects.reasons(winnow.objections) == ["Winnow itself runs in it"] with input as subjects.changed(subjects.tab, "/tab/panes/0/descendants", [{"pid": 4240, "name": "sh"}])
}

test_a_tab_stays_while_the_own_or_its_members_are_unknown if {
	every path in ["/tab/own", "/host/pid", "/host/ancestors", "/tab/panes/0/session_pids", "/tab/panes", "/tab"] {
		subjects.reasons(winnow.objections) == ["whether Winnow itself runs in it is not known"] with input as subjects.without(subjects.tab, [path])
	}
}

test_it_spares_the_terminal_that_it_runs_in if {
	every pid in [4242, 4240] {
		subjects.reasons(winnow.objections) == ["Winnow itself runs in it"] with input as subjects.changed(subjects.terminal, "/terminal/pid", pid)
		subjects.reasons(winnow.objections) == ["Winnow itself runs in it"] with input as subjects.changed(subjects.terminal, "/terminal/below/1/pid", pid)
	}
}

test_a_terminal_stays_while_the_own_or_its_processes_are_unknown if {
	every path in ["/host/pid", "/host/ancestors", "/terminal/pid", "/terminal/below", "/terminal"] {
		subjects.reasons(winnow.objections) == ["whether Winnow itself runs in it is not known"] with input as subjects.without(subjects.terminal, [path])
	}
	subjects.reasons(winnow.objections) == ["whether Winnow itself runs in it is not known"] with input as subjects.changed(subjects.terminal, "/terminal/below/1/pid", 0)
}

test_a_terminal_without_a_process_is_another if {
	subjects.reasons(winnow.objections) == ["whether Winnow itself runs in it is not known"] with input as subjects.without(subjects.ended, ["/terminal/status"])
	subjects.reasons(winnow.objections) == ["whether Winnow itself runs in it is not known"] with input as subjects.without(subjects.ended, ["/host/pid"])
}

test_what_others_left_behind_is_not_itself if {
	count(winnow.objections) == 0 with input as subjects.changed(subjects.session, "/session/panes/0/descendants", [{"pid": 77, "name": "node"}])
	count(winnow.objections) == 0 with input as subjects.changed(subjects.tab, "/tab/panes/0/descendants", [{"pid": 77, "name": "node"}])
}

test_an_empty_list_of_members_is_not_known if {
	subjects.reasons(winnow.objections) == ["whether Winnow itself runs in it is not known"] with input as subjects.changed(subjects.tab, "/tab/panes/0/session_pids", [])
}

test_one_that_was_put_into_its_pid_namespace_from_outside_has_no_ancestors if {
	every candidate in [subjects.process, subjects.session, subjects.tab, subjects.terminal] {
		count(winnow.objections) == 0 with input as subjects.changed(candidate, "/host/ancestors", [])
		subjects.reasons(winnow.objections) == ["whether Winnow itself runs in it is not known"] with input as subjects.without(candidate, ["/host/ancestors"])
	}
	alone := subjects.changed(subjects.session, "/host/ancestors", [])
	subjects.reasons(winnow.objections) == ["Winnow itself runs in it"] with input as subjects.changed(alone, "/session/panes/0/session_pids", [812, 4242])
	subjects.reasons(winnow.objections) == ["Winnow itself runs in it"] with input as subjects.changed(alone, "/session/panes/0/descendants", [{"pid": 4242, "name": "winnow"}])
	subjects.reasons(winnow.objections) == ["whether Winnow itself runs in it is not known"] with input as subjects.without(alone, ["/host/pid"])
}

test_winnow_may_run_in_a_tab_of_an_editor if {
	every tab in subjects.editor_tabs {
		count(winnow.objections) == 0 with input as tab
	}
	every change in [["/tab/editor/pid", 4240], ["/tab/editor/session", [{"pid": 4242, "name": "winnow"}]]] {
		subjects.reasons(winnow.objections) == ["Winnow itself runs in it"] with input as subjects.changed(subjects.editor_tab, change[0], change[1])
	}
	every path in ["/tab/editor/session", "/tab/editor/shape", "/host/pid", "/host/ancestors"] {
		subjects.reasons(winnow.objections) == ["whether Winnow itself runs in it is not known"] with input as subjects.without(subjects.editor_tab, [path])
	}
}
