package policies.reap.terminals.ownerless_test

import data.policies.lib.subjects_test as subjects
import data.policies.reap.terminals.ownerless

test_both_terminals_of_a_builder_that_is_gone_are_found if {
	every terminal in [subjects.terminal, subjects.server] {
		subjects.reasons(ownerless.findings) == ["its builder builder-pir-883 is no longer on record, and its worktree is gone"] with input as terminal
		ownerless.in_scope with input as terminal
	}
}

test_a_finding_says_what_it_rests_on if {
	some finding in ownerless.findings with input as subjects.terminal
	finding.message == "its builder builder-pir-883 is no longer on record, and its worktree is gone"
	finding.evidence == {"builder": "builder-pir-883", "how": "row", "worktree": "/home/u/acme/.builders/pir-883-slug", "owner_seen": 12000}
}

test_a_first_look_after_the_cleanup_is_enough_to_see_it if {
	some finding in ownerless.findings with input as subjects.without(subjects.terminal, ["/owner_seen"])
	not finding.evidence.owner_seen
}

test_one_that_has_exited_is_found_too if {
	subjects.reasons(ownerless.findings) == ["its builder builder-pir-883 is no longer on record, and its worktree is gone"] with input as subjects.changed(subjects.ended, "/terminal/owner", subjects.terminal.terminal.owner)
}

test_a_row_or_a_worktree_is_an_owner if {
	every path, value in {"recorded": true, "gone": false} {
		changed := subjects.changed(subjects.terminal, concat("", ["/terminal/owner/", path]), value)
		count(ownerless.findings) == 0 with input as changed
		ownerless.in_scope with input as changed
	}
}

test_nobody_elses_terminal_is_in_scope if {
	every kind in ["architect", "shell", "shellper", "", "Dev"] {
		not ownerless.in_scope with input as subjects.changed(subjects.terminal, "/terminal/role_kind", kind)
		count(ownerless.findings) == 0 with input as subjects.changed(subjects.terminal, "/terminal/role_kind", kind)
	}
}

test_a_missing_fact_is_no_finding if {
	every path in ["/terminal/owner", "/terminal/owner/id", "/terminal/owner/how", "/terminal/owner/recorded", "/terminal/owner/gone", "/terminal/role_kind", "/terminal"] {
		count(ownerless.findings) == 0 with input as subjects.without(subjects.terminal, [path])
	}
}
