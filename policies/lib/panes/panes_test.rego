package policies.lib.panes_test

import data.policies.lib.panes
import data.policies.lib.subjects_test as subjects

test_an_idle_pane_is_named if panes.idle == ["%5"] with input as subjects.session

test_a_shell_that_runs_a_script_is_not_idle if {
	panes.idle == [] with input as subjects.changed(subjects.session, "/session/panes/0/session/0/interactive", false)
	panes.scripts == ["%5"] with input as subjects.changed(subjects.session, "/session/panes/0/session/0/interactive", false)
	panes.idle == [] with input as subjects.changed(subjects.tab, "/tab/panes/0/session/0/interactive", false)
	panes.scripts == ["w1:p4"] with input as subjects.changed(subjects.tab, "/tab/panes/0/session/0/interactive", false)
	panes.scripts == [] with input as subjects.session
}

test_a_shell_of_which_it_is_not_known_is_not_idle if {
	panes.idle == [] with input as subjects.without(subjects.session, ["/session/panes/0/session/0/interactive"])
	panes.scripts == [] with input as subjects.without(subjects.session, ["/session/panes/0/session/0/interactive"])
}

test_what_the_foreground_says_of_a_shell_is_no_proof if {
	panes.idle == [] with input as json.patch(subjects.session, [
		{"op": "add", "path": "/session/panes/0/foreground/0/interactive", "value": true},
		{"op": "add", "path": "/session/panes/0/session/0/interactive", "value": false},
	])
}

test_a_pane_with_survivors_is_not_dead if {
	panes.dead == [] with input as subjects.changed(subjects.session, "/session/panes/0", object.union(subjects.dead_pane("%5"), {"dead": true, "session_pids": [9]}))
	panes.dead == ["%5"] with input as subjects.changed(subjects.session, "/session/panes/0", subjects.dead_pane("%5"))
}

test_a_dead_pane_is_dead_and_has_nobody_in_it if {
	panes.dead == [] with input as subjects.changed(subjects.session, "/session/panes/0", object.union(subjects.dead_pane("%5"), {"dead": false}))
	panes.dead == [] with input as subjects.changed(subjects.session, "/session/panes/0", object.union(subjects.dead_pane("%5"), {"dead": true, "session": [{"pid": 9, "name": "vim"}]}))
	panes.dead == [] with input as subjects.changed(subjects.session, "/session/panes/0", object.union(subjects.dead_pane("%5"), {"dead": true, "descendants": [{"pid": 9, "name": "vim"}]}))
}

test_idle_and_dead_panes_together_are_quiet_and_not_idle if {
	mixed := subjects.changed(subjects.session, "/session/panes/1", subjects.dead_pane("%6"))
	panes.all_quiet with input as mixed
	not panes.all_idle with input as mixed
}

test_no_panes_are_neither if {
	none := subjects.changed(subjects.session, "/session/panes", [])
	not panes.all_quiet with input as none
	not panes.all_idle with input as none
}

test_the_panes_are_those_of_the_kind if {
	panes.present[0].id == "%5" with input as subjects.session
	panes.present[0].id == "w1:p4" with input as subjects.tab
	not panes.present with input as subjects.dir
	panes.idle == ["w1:p4"] with input as subjects.tab
}

test_the_panes_of_another_kind_are_nobodys if {
	not panes.all_idle with input as subjects.changed(subjects.session, "/kind", "tab")
	not panes.all_idle with input as subjects.changed(subjects.tab, "/kind", "session")
	not panes.all_quiet with input as subjects.without(subjects.session, ["/kind"])
}

test_all_panes_are_listed_when_the_numbers_agree if {
	panes.all_listed with input as subjects.tab
	not panes.all_listed with input as subjects.changed(subjects.tab, "/tab/pane_count", 2)
	not panes.all_listed with input as json.patch(subjects.tab, [{"op": "add", "path": "/tab/pane_count", "value": 0}, {"op": "add", "path": "/tab/panes", "value": []}])
}

test_of_no_pane_nothing_is_known if {
	none := subjects.changed(subjects.tab, "/tab/panes", [])
	not panes.no_agents with input as none
	not panes.all_read with input as none
}

test_who_carries_a_pane_elsewhere_keeps_it if {
	panes.elsewhere == {"make"} with input as subjects.carried
	panes.idle == [] with input as subjects.carried
	panes.quiet_here with input as subjects.carried
	not panes.all_quiet with input as subjects.carried
	panes.elsewhere == {"make"} with input as subjects.without(subjects.carried, ["/members"])
}

test_who_carries_a_dead_pane_keeps_it if {
	dead := subjects.changed(subjects.session, "/session/panes/0", object.union(subjects.dead_pane("%5"), {"dead": true, "carriers": [{"pid": 990, "name": "make"}]}))
	panes.dead == [] with input as dead
	not panes.all_quiet with input as dead
}

test_what_lives_on_by_design_keeps_no_pane if {
	every patch in [
		[{"op": "add", "path": "/members/0/process/name", "value": "tmux: server"}],
		[{"op": "add", "path": "/members/0/lineage/personal", "value": "editor"}],
		[{"op": "add", "path": "/members/0/process/daemon", "value": "codex app-server"}],
		[{"op": "add", "path": "/members/0/server", "value": 700}],
	] {
		changed := json.patch(subjects.carried, patch)
		panes.idle == ["%5"] with input as changed
		panes.live_on == {"make"} with input as changed
		panes.elsewhere == set() with input as changed
	}
}

# A popup is a child of the pane's own server.
test_what_the_panes_own_server_started_keeps_it if {
	panes.idle == [] with input as subjects.changed(subjects.carried, "/members/0/server", 500)
	panes.idle == [] with input as json.patch(subjects.carried, [{"op": "add", "path": "/members/0/server", "value": 700}, {"op": "remove", "path": "/session/server"}])
	panes.idle == [] with input as json.patch(subjects.carried, [{"op": "add", "path": "/members/0/lineage/personal", "value": "editor"}, {"op": "remove", "path": "/members/0/lineage/is_agent"}])
	panes.idle == [] with input as subjects.changed(subjects.carried, "/members/0/process/daemon", "")
}

test_what_an_agent_left_in_a_pane_is_no_work if {
	panes.idle == ["%5"] with input as subjects.littered
	panes.taken_along == {"node"} with input as subjects.littered
	panes.idle == [] with input as subjects.changed(subjects.littered, "/members/0/lineage/family", "build-tool")
	panes.idle == [] with input as subjects.without(subjects.littered, ["/members"])
}

test_of_a_pane_of_which_something_is_not_known_nothing_is_said if {
	every fact in ["descendants", "carriers"] {
		panes.idle == [] with input as subjects.without(subjects.session, [concat("", ["/session/panes/0/", fact])])
	}
	dead := subjects.changed(subjects.session, "/session/panes/0", subjects.dead_pane("%5"))
	panes.dead == ["%5"] with input as dead
	every fact in ["descendants", "carriers", "session", "session_pids"] {
		panes.dead == [] with input as subjects.without(dead, [concat("", ["/session/panes/0/", fact])])
	}
	panes.read == ["w1:p4"] with input as subjects.tab
	panes.read == [] with input as subjects.without(subjects.tab, ["/tab/panes/0/error"])
}
