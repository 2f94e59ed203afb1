package policies.main_test

import data.policies.lib.subjects_test as subjects
import data.policies.main

test_each_kind_may_go if {
	main.decision.verdict == "reap" with input as subjects.dir
	main.decision.verdict == "reap" with input as subjects.empty
	main.decision.verdict == "reap" with input as subjects.session
	main.decision.verdict == "reap" with input as subjects.finished
	main.decision.verdict == "reap" with input as subjects.process
	main.decision.verdict == "reap" with input as subjects.tab
	main.decision.verdict == "reap" with input as subjects.deleted
	main.decision.verdict == "reap" with input as subjects.runaway
	every terminal in subjects.terminals {
		main.decision.verdict == "reap" with input as terminal
	}
}

test_a_decision_names_what_was_found if {
	decision := main.decision with input as subjects.finished
	[finding.rule | some finding in decision.findings] == ["reap.sessions.finished", "reap.sessions.idle_shell"]
	decision.objections == []
	decision.in_scope == true
}

test_one_objection_spares if {
	decision := main.decision with input as subjects.changed(subjects.dir, "/hold", {"owner": "ann"})
	decision.verdict == "spare"
	subjects.reasons(decision.findings) == ["all its work is on origin/main, and nothing has happened in it for 1d3h"]
	[objection.rule | some objection in decision.objections] == ["protect.held"]
}

test_no_finding_spares if {
	decision := main.decision with input as subjects.changed(subjects.dir, "/dir/git/landed", false)
	decision == {"verdict": "spare", "findings": [], "objections": [], "in_scope": true}
}

test_a_stranger_is_out_of_scope if {
	decision := main.decision with input as subjects.changed(subjects.session, "/session/name", "mine")
	decision.in_scope == false
	decision.verdict == "spare"
}

test_garbage_is_spared if {
	every garbage in [
		{}, [], null, 0, "x",
		{"kind": "dir"}, {"kind": "session"}, {"kind": "process"}, {"kind": "tab"}, {"kind": "terminal"}, {"kind": "ship"}, {"kind": 5},
		{"kind": "dir", "dir": []}, {"kind": "session", "session": {"panes": "none"}, "config": {}},
		{"kind": "process", "process": "x", "lineage": null, "config": 3, "host": []},
		{"kind": "terminal", "terminal": "x", "config": 3}, {"kind": "terminal", "terminal": {"below": "none", "owner": [], "status": 1}},
	] {
		decision := main.decision with input as garbage
		decision.verdict == "spare"
		decision.in_scope == false
		"which rules are turned off is not known (rules.levels)" in subjects.reasons(decision.objections)
	}
}

test_no_input_is_spared if main.decision.verdict == "spare"

test_without_any_one_part_of_it_a_candidate_is_spared if {
	every subject in [subjects.dir, subjects.empty, subjects.session, subjects.finished, subjects.process, subjects.deleted, subjects.runaway] {
		every part in ["/kind", "/identity", "/source", "/evidence_sources", "/host", "/config", "/age"] {
			decision := main.decision with input as subjects.without(subject, [part])
			decision.verdict == "spare"
		}
	}
}

test_without_any_one_part_of_it_a_tab_is_spared if {
	every part in ["/kind", "/identity", "/source", "/source/server", "/evidence_sources", "/host", "/config", "/tab", "/tab/panes", "/sighting"] {
		decision := main.decision with input as subjects.without(subjects.tab, [part])
		decision.verdict == "spare"
	}
}

test_without_any_one_part_of_it_a_terminal_is_spared if {
	every terminal in subjects.terminals {
		every part in ["/kind", "/identity", "/source", "/evidence_sources", "/host", "/config", "/terminal", "/terminal/role_kind", "/terminal/listed", "/age", "/sighting"] {
			decision := main.decision with input as subjects.without(terminal, [part])
			decision.verdict == "spare"
		}
	}
}

test_a_process_that_several_rules_claim_has_all_their_reasons if {
	whole := object.union(subjects.runaway, {"process": {"ppid": 1, "cwd": "/w/.worktrees/x", "cwd_deleted": true}})
	decision := main.decision with input as whole
	{finding.rule | some finding in decision.findings} == {"reap.processes.deleted", "reap.processes.orphan", "reap.processes.runaway"}
	decision.verdict == "reap"
}
