package policies.reap.terminals.husk_test

import data.policies.lib.subjects_test as subjects
import data.policies.reap.terminals.husk

test_a_shellper_that_nobody_knows_is_a_husk if {
	some finding in husk.findings with input as subjects.shellper
	finding.evidence == {"pid": 6101, "age": 20000}
	husk.in_scope with input as subjects.shellper
}

test_one_that_somebody_knows_is_none if {
	every path in ["/terminal/listed", "/terminal/recorded"] {
		count(husk.findings) == 0 with input as subjects.changed(subjects.shellper, path, true)
	}
}

test_another_state_folders_is_none if {
	count(husk.findings) == 0 with input as subjects.changed(subjects.shellper, "/terminal/scoped", false)
}

test_one_with_a_child_is_none if {
	count(husk.findings) == 0 with input as subjects.changed(subjects.shellper, "/terminal/below", [{"pid": 6102, "name": "sh"}])
}

test_a_young_one_is_none if {
	count(husk.findings) == 0 with input as subjects.changed(subjects.shellper, "/age", 3599)
	subjects.reasons(husk.findings) == ["neither its Tower nor its store knows it, and nothing lives below it"] with input as subjects.changed(subjects.shellper, "/age", 3600)
}

test_a_grace_of_zero_is_zero if {
	subjects.reasons(husk.findings) == ["neither its Tower nor its store knows it, and nothing lives below it"] with input as json.patch(subjects.shellper, [{"op": "add", "path": "/age", "value": 0}, {"op": "add", "path": "/config/grace/shellper", "value": 0}])
}

test_nothing_else_is_in_scope if {
	every kind in ["architect", "shell", "builder", "dev", ""] {
		not husk.in_scope with input as subjects.changed(subjects.shellper, "/terminal/role_kind", kind)
		count(husk.findings) == 0 with input as subjects.changed(subjects.shellper, "/terminal/role_kind", kind)
	}
	not husk.in_scope with input as subjects.changed(subjects.shellper, "/kind", "process")
}

test_a_missing_fact_is_no_husk if {
	every path in ["/terminal/listed", "/terminal/recorded", "/terminal/scoped", "/terminal/below", "/terminal/pid", "/terminal/role_kind", "/terminal", "/age", "/config/grace/shellper"] {
		count(husk.findings) == 0 with input as subjects.without(subjects.shellper, [path])
	}
}
