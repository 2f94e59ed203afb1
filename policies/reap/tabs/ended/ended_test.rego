package policies.reap.tabs.ended_test

import data.policies.lib.subjects_test as subjects
import data.policies.main
import data.policies.reap.tabs.ended

test_an_agents_tab_whose_process_has_ended_goes if {
	main.decision.verdict == "reap" with input as subjects.editor_tab
	subjects.reasons(ended.findings) == ["its process (4711) has ended"] with input as subjects.editor_tab
	some finding in ended.findings with input as subjects.editor_tab
	finding.evidence == {"creation_name": "Claude Code", "program": "", "markers": [], "typed": true, "live_on": {"sleep"}}
}

test_a_task_goes_as_a_shell_does if {
	main.decision.verdict == "reap" with input as subjects.changed(subjects.editor_tab, "/tab/editor/shape", "task")
}

test_a_marker_a_program_or_a_name_puts_it_in_scope if {
	unnamed := subjects.changed(subjects.editor_tab, "/tab/editor/creation_name", "")
	not ended.in_scope with input as unnamed
	ended.in_scope with input as subjects.changed(unnamed, "/tab/editor/markers", ["CLAUDECODE"])
	ended.in_scope with input as subjects.changed(unnamed, "/tab/editor/program", "codex")
	ended.in_scope with input as subjects.changed(unnamed, "/tab/editor/creation_name", "agent: review")
	not ended.in_scope with input as subjects.changed(unnamed, "/tab/editor/program", "vim")
}

test_a_persons_shell_is_never_in_scope if {
	every name in ["", "zsh", "build", "claude code", "Claude Code 2", "my agent: x"] {
		not ended.in_scope with input as json.patch(subjects.editor_tab, [
			{"op": "add", "path": "/tab/editor/creation_name", "value": name},
			{"op": "add", "path": "/tab/editor/name", "value": "Claude Code"},
			{"op": "add", "path": "/tab/label", "value": "Claude Code"},
		])
	}
}

test_an_empty_word_puts_nothing_in_scope if {
	every name in ["", "x"] {
		not ended.in_scope with input as json.patch(subjects.editor_tab, [
			{"op": "add", "path": "/tab/editor/creation_name", "value": name},
			{"op": "add", "path": "/config/editor_names", "value": {"exact": [""], "prefix": [""]}},
		])
	}
}

test_one_whose_process_lives_stays if {
	lives := subjects.changed(subjects.editor_tab, "/shown/ended", false)
	ended.in_scope with input as lives
	count(ended.findings) == 0 with input as lives
	main.decision.verdict == "spare" with input as lives
}

test_what_the_editor_says_of_the_end_is_no_evidence if {
	every code in [0, 1, 130] {
		count(ended.findings) == 0 with input as json.patch(subjects.editor_tab, [
			{"op": "add", "path": "/tab/editor/exit_code", "value": code},
			{"op": "remove", "path": "/shown/ended"},
		])
	}
	main.decision.verdict == "reap" with input as subjects.without(subjects.editor_tab, ["/tab/editor/exit_code"])
}

test_a_missing_fact_is_no_finding if {
	every path in ["/shown/ended", "/shown", "/tab/editor/pid", "/tab/editor/shape", "/tab/editor/creation_name", "/tab/editor", "/tab", "/config/editor_names"] {
		count(ended.findings) == 0 with input as subjects.without(subjects.editor_tab, [path])
	}
}
