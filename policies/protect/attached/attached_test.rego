package policies.protect.attached_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.attached

test_nobody_looks_at_a_detached_session if {
	count(attached.objections) == 0 with input as subjects.session
}

test_a_client_that_types_keeps if {
	subjects.reasons(attached.objections) == ["protect.attached: a client is attached and was used 5s ago; at least 1h is required"] with input as json.patch(subjects.session, [{"op": "add", "path": "/session/attached", "value": 1}, {"op": "add", "path": "/client_idle", "value": 5}])
}

test_a_client_that_was_left_for_hours_does_not_keep if {
	count(attached.objections) == 0 with input as json.patch(subjects.session, [{"op": "add", "path": "/session/attached", "value": 2}, {"op": "add", "path": "/client_idle", "value": 3600}])
}

test_a_client_of_unknown_activity_keeps if {
	subjects.reasons(attached.objections) == ["protect.attached: whether a client is attached and in use is not known"] with input as subjects.changed(subjects.session, "/session/attached", 1)
}

test_not_knowing_who_is_attached_keeps if {
	every path, reasons in {
		"/session/attached": ["protect.attached: whether a client is attached and in use is not known"],
		"/session": ["protect.attached: whether a client is attached and in use is not known", "protect.attached: whether it is one of a group of sessions is not known"],
	} {
		subjects.reasons(attached.objections) == reasons with input as subjects.without(subjects.session, [path])
	}
}

test_a_member_of_a_group_stays if {
	subjects.reasons(attached.objections) == ["protect.attached: it is one of a group of 2 sessions, which show the same windows"] with input as json.patch(subjects.session, [{"op": "add", "path": "/session/group", "value": "g"}, {"op": "add", "path": "/session/group_size", "value": 2}])
}

test_a_group_of_one_may_go if {
	count(attached.objections) == 0 with input as json.patch(subjects.session, [{"op": "add", "path": "/session/group", "value": "g"}, {"op": "add", "path": "/session/group_size", "value": 1}])
}

test_a_group_of_unknown_size_stays if {
	subjects.reasons(attached.objections) == ["protect.attached: whether it is one of a group of sessions is not known"] with input as subjects.changed(subjects.session, "/session/group", "g")
}

test_a_group_of_unknown_name_stays if {
	subjects.reasons(attached.objections) == ["protect.attached: it is one of a group of 2 sessions, which show the same windows"] with input as subjects.changed(subjects.session, "/session/group_size", 2)
}

test_not_knowing_whether_there_is_a_group_keeps if {
	every path in ["/session/group"] {
		subjects.reasons(attached.objections) == ["protect.attached: whether it is one of a group of sessions is not known"] with input as subjects.without(subjects.session, [path])
	}
}

test_a_window_that_another_session_shows_stays if {
	subjects.reasons(attached.objections) == ["protect.attached: another session shows one of its windows"] with input as subjects.changed(subjects.session, "/session/panes/0/linked", ["$9"])
}

test_folders_and_processes_are_never_looked_at if {
	count(attached.objections) == 0 with input as subjects.dir
	count(attached.objections) == 0 with input as subjects.process
}

test_a_tab_without_the_focus_is_not_looked_at if {
	count(attached.objections) == 0 with input as subjects.tab
}

test_the_focused_tab_stays if {
	some objection in attached.objections with input as subjects.changed(subjects.tab, "/tab/focused", true)
	objection.message == "it is the focused tab"
}

test_a_tab_whose_focus_is_not_known_stays if {
	every path in ["/tab/focused", "/tab"] {
		subjects.reasons(attached.objections) == ["protect.attached: whether it is the focused tab is not known"] with input as subjects.without(subjects.tab, [path])
	}
}

test_an_editors_tab_with_a_process_is_kept_while_it_has_the_focus if {
	count(attached.objections) == 0 with input as subjects.editor_tab
	subjects.reasons(attached.objections) == ["protect.attached: it is the focused tab"] with input as subjects.changed(subjects.editor_tab, "/tab/focused", true)
	subjects.reasons(attached.objections) == ["protect.attached: whether it is the focused tab is not known"] with input as subjects.without(subjects.editor_tab, ["/tab/focused"])
}

test_one_that_an_extension_draws_is_not if {
	every focused in [true, false] {
		count(attached.objections) == 0 with input as subjects.changed(subjects.builder_tab, "/tab/focused", focused)
	}
	count(attached.objections) == 0 with input as subjects.without(subjects.builder_tab, ["/tab/focused"])
}
