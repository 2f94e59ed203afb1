package policies.reap.terminals.exited_test

import data.policies.lib.subjects_test as subjects
import data.policies.reap.terminals.exited

test_an_exited_terminal_is_found_with_and_without_its_process if {
	every terminal in [subjects.exited, subjects.ended] {
		some finding in exited.findings with input as terminal
		finding.evidence == {"idle": 9000, "exit_code": 0}
		exited.in_scope with input as terminal
	}
}

test_an_exit_code_need_not_be_known if {
	some finding in exited.findings with input as subjects.without(subjects.exited, ["/terminal/exit_code"])
	not finding.evidence.exit_code
}

test_one_that_runs_is_not if {
	count(exited.findings) == 0 with input as subjects.changed(subjects.exited, "/terminal/status", "running")
}

test_what_still_lives_in_it_is_work if {
	count(exited.findings) == 0 with input as subjects.changed(subjects.exited, "/terminal/below", [{"pid": 6102, "name": "make"}])
}

test_its_last_words_may_be_read_for_a_while if {
	count(exited.findings) == 0 with input as subjects.changed(subjects.exited, "/idle", 599)
	subjects.reasons(exited.findings) == ["it has exited, nothing lives in it, and it has printed nothing for 10m"] with input as subjects.changed(subjects.exited, "/idle", 600)
}

test_one_that_the_tower_does_not_list_is_not if {
	count(exited.findings) == 0 with input as subjects.changed(subjects.exited, "/terminal/listed", false)
}

test_architects_and_shells_are_not_in_scope if {
	every kind in ["architect", "shell", "shellper", ""] {
		not exited.in_scope with input as subjects.changed(subjects.exited, "/terminal/role_kind", kind)
		count(exited.findings) == 0 with input as subjects.changed(subjects.exited, "/terminal/role_kind", kind)
	}
}

test_a_missing_fact_is_no_finding if {
	every path in ["/terminal/status", "/terminal/listed", "/terminal/below", "/terminal/pid", "/terminal/role_kind", "/terminal", "/idle", "/config/terminal_idle"] {
		count(exited.findings) == 0 with input as subjects.without(subjects.exited, [path])
	}
}
