package policies.lib.shells_test

import data.policies.lib.shells
import data.policies.lib.subjects_test as subjects

_restful := {"seconds": 3, "woke": false}

_rested(subject, rest) := subjects.changed(subject, "/session/panes/0/session/0/rest", rest)

test_the_shells_are_those_of_the_panes_and_of_the_terminal if {
	{shell.pid | some shell in shells.present} == {812} with input as subjects.session
	{shell.name | some shell in shells.present} == {"zsh"} with input as subjects.tab
	{shell.name | some shell in shells.present} == {"bash"} with input as subjects.changed(subjects.terminal, "/terminal/below", [{"pid": 1, "name": "bash"}, {"pid": 2, "name": "node"}])
	shells.present == set() with input as subjects.dir
}

test_a_shell_that_ran_when_its_terminal_changed_rests if {
	shells.all_rest with input as _rested(subjects.session, _restful)
	shells.rested == 3 with input as _rested(subjects.session, _restful)
	shells.restless == set() with input as _rested(subjects.session, _restful)
}

test_a_shell_that_woke_by_itself_rests_when_it_is_long_ago if {
	shells.all_rest with input as _rested(subjects.session, {"seconds": 3600, "woke": true})
	not shells.all_rest with input as _rested(subjects.session, {"seconds": 3599, "woke": true})
	some why in shells.restless with input as _rested(subjects.session, {"seconds": 3, "woke": true})
	contains(why, "its shell zsh (812) ran 3s ago by itself")
}

test_a_shell_of_which_it_is_not_known_does_not_rest if {
	not shells.all_rest with input as subjects.without(_rested(subjects.session, _restful), ["/session/panes/0/session/0/rest"])
	not shells.all_rest with input as _rested(subjects.session, {"seconds": 3})
	not shells.all_rest with input as _rested(subjects.session, {"woke": false})
	some why in shells.restless with input as _rested(subjects.session, {"seconds": 3})
	contains(why, "is not known")
	shells.all_rest with input as _rested(subjects.session, {"seconds": 3600})
}

test_one_shell_that_woke_is_enough if {
	two := subjects.changed(_rested(subjects.session, _restful), "/session/panes/1", object.union(subjects.idle_pane, {"id": "%6", "shell_pid": 813, "session": [{"pid": 813, "name": "zsh", "rest": {"seconds": 2, "woke": true}}]}))
	not shells.all_rest with input as two
	shells.rested == 2 with input as two
}

test_of_one_shell_unknown_is_unknown_of_all if {
	two := subjects.changed(_rested(subjects.session, _restful), "/session/panes/1", object.union(subjects.idle_pane, {"id": "%6", "shell_pid": 813, "session": [{"pid": 813, "name": "zsh"}]}))
	not shells.rested with input as two
}

test_a_program_that_is_no_shell_is_not_waited_for if {
	program := subjects.changed(subjects.session, "/session/panes/0/session", [{"pid": 812, "name": "less"}])
	shells.present == set() with input as program
	count(shells.present) == 1 with input as subjects.without(program, ["/config/shells"])
	count(shells.present) == 1 with input as subjects.changed(program, "/session/panes/0/session/0/name", "")
}
