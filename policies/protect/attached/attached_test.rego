package policies.protect.attached_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.attached

test_nobody_looks_at_a_detached_session if {
	count(attached.objections) == 0 with input as subjects.session
}

test_a_client_that_shows_it_keeps_for_as_long_as_it_does if {
	every idle in [5, 1000000] {
		subjects.reasons(attached.objections) == ["a client shows it"] with input as json.patch(subjects.session, [{"op": "add", "path": "/session/attached", "value": 1}, {"op": "add", "path": "/client_idle", "value": idle}])
	}
}

_watching(clients, programs, idle) := json.patch(subjects.session, [
	{"op": "add", "path": "/session/attached", "value": clients},
	{"op": "add", "path": "/session/program_clients", "value": programs},
	{"op": "add", "path": "/client_idle", "value": idle},
])

test_a_program_that_only_watches_does_not_keep if {
	count(attached.objections) == 0 with input as _watching(2, 2, 3600)
	subjects.reasons(attached.objections) == ["a program is attached and was used 5s ago; it waits for 1h"] with input as _watching(1, 1, 5)
	subjects.reasons(attached.objections) == ["a client shows it"] with input as _watching(2, 1, 3600)
}

test_a_program_of_unknown_activity_keeps if {
	every path in ["/client_idle", "/session/program_clients"] {
		subjects.reasons(attached.objections) == ["whether a client shows it is not known"] with input as subjects.without(_watching(1, 1, 3600), [path])
	}
}

test_not_knowing_who_is_attached_keeps if {
	every path, reasons in {
		"/session/attached": {"whether a client shows it is not known"},
		"/session": {
			"whether a client shows it is not known",
			"whether a client was ever attached to it is not known",
			"whether it is one of a group of sessions is not known",
		},
	} {
		{reason | some reason in subjects.reasons(attached.objections)} == reasons with input as subjects.without(subjects.session, [path])
	}
}

_mine := subjects.changed(subjects.changed(subjects.session, "/session/name", "feature"), "/session/ever_attached", true)

_persons := ["a client was attached to it, so it is a person's: put its name into rules.session_names if it may go"]

test_a_session_that_a_client_was_ever_attached_to_is_a_persons if {
	subjects.reasons(attached.objections) == _persons with input as _mine
	count(attached.objections) == 0 with input as subjects.changed(_mine, "/session/name", "worker-7")
	count(attached.objections) == 0 with input as subjects.changed(_mine, "/session/ever_attached", false)
}

test_not_knowing_whether_a_client_was_ever_attached_keeps if {
	subjects.reasons(attached.objections) == ["whether a client was ever attached to it is not known"] with input as subjects.without(_mine, ["/session/ever_attached"])
}

# It was looked at while its owner worked: made when that began, last used a second before that ended.
_looked_at := json.patch(subjects.finished, [
	{"op": "add", "path": "/session/ever_attached", "value": true},
	{"op": "add", "path": "/entries/0/started", "value": 7100},
	{"op": "add", "path": "/used", "value": 602},
])

test_an_orchestrators_session_that_nobody_used_after_its_end_may_go if {
	count(attached.objections) == 0 with input as _looked_at
}

test_one_that_was_used_after_its_owner_ended_is_a_persons if {
	subjects.reasons(attached.objections) == _persons with input as subjects.changed(_looked_at, "/used", 601)
	subjects.reasons(attached.objections) == _persons with input as subjects.changed(_looked_at, "/used", 60)
}

test_one_that_a_person_asks_for_may_go_when_its_owner_has_ended if {
	asked := json.patch(_looked_at, [{"op": "add", "path": "/used", "value": 60}, {"op": "add", "path": "/asked", "value": {"by": "user", "uid": 1000, "mine": false}}])
	count(attached.objections) == 0 with input as asked
	subjects.reasons(attached.objections) == _persons with input as subjects.changed(asked, "/entries/0/status", "running")
	subjects.reasons(attached.objections) == ["a client shows it"] with input as subjects.changed(asked, "/session/attached", 1)
}

test_one_that_was_there_before_its_owner_is_a_persons if {
	subjects.reasons(attached.objections) == _persons with input as subjects.changed(_looked_at, "/entries/0/started", 6500)
}

test_one_whose_owner_has_not_ended_or_that_an_entry_may_not_mean_is_a_persons if {
	subjects.reasons(attached.objections) == _persons with input as subjects.changed(_looked_at, "/entries/0/status", "running")
	subjects.reasons(attached.objections) == _persons with input as subjects.changed(_looked_at, "/entries/0/shared", true)
}

test_what_is_not_known_of_its_record_keeps_it if {
	every path in ["/entries/0/started", "/entries/0/ended", "/entries/0/status", "/entries/0/shared", "/made", "/used"] {
		subjects.reasons(attached.objections) == _persons with input as subjects.without(_looked_at, [path])
	}
}

test_a_member_of_a_group_stays if {
	subjects.reasons(attached.objections) == ["it is one of a group of 2 sessions, which show the same windows"] with input as json.patch(subjects.session, [{"op": "add", "path": "/session/group", "value": "g"}, {"op": "add", "path": "/session/group_size", "value": 2}])
}

test_a_group_of_one_may_go if {
	count(attached.objections) == 0 with input as json.patch(subjects.session, [{"op": "add", "path": "/session/group", "value": "g"}, {"op": "add", "path": "/session/group_size", "value": 1}])
}

test_a_group_of_unknown_size_stays if {
	subjects.reasons(attached.objections) == ["whether it is one of a group of sessions is not known"] with input as subjects.changed(subjects.session, "/session/group", "g")
}

test_a_group_of_unknown_name_stays if {
	subjects.reasons(attached.objections) == ["it is one of a group of 2 sessions, which show the same windows"] with input as subjects.changed(subjects.session, "/session/group_size", 2)
}

test_not_knowing_whether_there_is_a_group_keeps if {
	every path in ["/session/group"] {
		subjects.reasons(attached.objections) == ["whether it is one of a group of sessions is not known"] with input as subjects.without(subjects.session, [path])
	}
}

test_a_window_that_another_session_shows_stays if {
	subjects.reasons(attached.objections) == ["another session shows one of its windows"] with input as subjects.changed(subjects.session, "/session/panes/0/linked", ["$9"])
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
		subjects.reasons(attached.objections) == ["whether it is the focused tab is not known"] with input as subjects.without(subjects.tab, [path])
	}
}

test_an_editors_tab_with_a_process_is_kept_while_it_has_the_focus if {
	count(attached.objections) == 0 with input as subjects.editor_tab
	subjects.reasons(attached.objections) == ["it is the focused tab"] with input as subjects.changed(subjects.editor_tab, "/tab/focused", true)
	subjects.reasons(attached.objections) == ["whether it is the focused tab is not known"] with input as subjects.without(subjects.editor_tab, ["/tab/focused"])
}

test_one_that_an_extension_draws_is_not if {
	every focused in [true, false] {
		count(attached.objections) == 0 with input as subjects.changed(subjects.builder_tab, "/tab/focused", focused)
	}
	count(attached.objections) == 0 with input as subjects.without(subjects.builder_tab, ["/tab/focused"])
}
