package policies.reap.tabs.ownerless_test

import data.policies.lib.subjects_test as subjects
import data.policies.main
import data.policies.reap.tabs.ownerless

test_the_tab_of_a_builder_that_is_gone_goes if {
	main.decision.verdict == "reap" with input as subjects.builder_tab
	subjects.reasons(ownerless.findings) == ["its builder builder-pir-883 is no longer on record, and its worktree is gone"] with input as subjects.builder_tab
	some finding in ownerless.findings with input as subjects.builder_tab
	finding.evidence == {"builder": "builder-pir-883", "workspaces": ["/home/u/acme"]}
}

test_the_tab_of_its_development_server_goes_too if {
	main.decision.verdict == "reap" with input as subjects.changed(subjects.builder_tab, "/tab/editor/codev/kind", "dev")
}

test_a_builder_on_record_or_with_a_worktree_keeps_it if {
	every path in ["/shown/recorded", "/shown/worktree"] {
		kept := subjects.changed(subjects.builder_tab, path, true)
		ownerless.in_scope with input as kept
		count(ownerless.findings) == 0 with input as kept
		main.decision.verdict == "spare" with input as kept
	}
}

test_no_workspace_proves_nothing if {
	count(ownerless.findings) == 0 with input as subjects.changed(subjects.builder_tab, "/shown/workspaces", [])
}

test_only_what_an_extension_draws_is_in_scope if {
	every shape in ["shell", "task"] {
		not ownerless.in_scope with input as subjects.changed(subjects.builder_tab, "/tab/editor/shape", shape)
	}
	not ownerless.in_scope with input as subjects.changed(subjects.builder_tab, "/tab/editor/pid", 4711)
	not ownerless.in_scope with input as subjects.without(subjects.builder_tab, ["/tab/editor/codev"])
	not ownerless.in_scope with input as subjects.editor_tab
}

test_a_missing_fact_is_no_finding if {
	every path in ["/shown/recorded", "/shown/worktree", "/shown/workspaces", "/shown", "/tab/editor/codev/key", "/tab/editor/codev/id", "/tab/editor/shape", "/tab/editor", "/tab"] {
		count(ownerless.findings) == 0 with input as subjects.without(subjects.builder_tab, [path])
	}
}
