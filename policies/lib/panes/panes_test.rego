package policies.lib.panes_test

import data.policies.lib.panes
import data.policies.lib.subjects_test as subjects

test_an_idle_pane_is_named if panes.idle == ["%5"] with input as subjects.session

test_a_pane_with_survivors_is_not_dead if {
	panes.dead == [] with input as subjects.changed(subjects.session, "/session/panes/0", {"id": "%5", "dead": true, "session_pids": [9]})
	panes.dead == ["%5"] with input as subjects.changed(subjects.session, "/session/panes/0", {"id": "%5", "dead": true})
}

test_idle_and_dead_panes_together_are_quiet_and_not_idle if {
	mixed := subjects.changed(subjects.session, "/session/panes/1", {"id": "%6", "dead": true})
	panes.all_quiet with input as mixed
	not panes.all_idle with input as mixed
}

test_no_panes_are_neither if {
	none := subjects.changed(subjects.session, "/session/panes", [])
	not panes.all_quiet with input as none
	not panes.all_idle with input as none
}
