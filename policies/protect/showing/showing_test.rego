package policies.protect.showing_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.showing

test_a_tab_that_shows_nothing_is_not_kept if {
	every tab in subjects.editor_tabs {
		count(showing.objections) == 0 with input as tab
	}
	count(showing.objections) == 0 with input as subjects.tab
}

test_a_terminal_that_lives_keeps_it if {
	living := subjects.changed(subjects.builder_tab, "/shown/sessions", ["terminal:codev/default/one"])
	subjects.reasons(showing.objections) == ["a terminal that it shows has not ended: terminal:codev/default/one"] with input as living
	some objection in showing.objections with input as living
	objection.evidence == {"sessions": ["terminal:codev/default/one"]}
}

test_what_is_not_known_keeps_it if {
	every path in ["/shown/sessions", "/shown"] {
		subjects.reasons(showing.objections) == ["whether a terminal that it shows lives is not known"] with input as subjects.without(subjects.builder_tab, [path])
	}
}

test_a_tab_with_a_process_shows_none if {
	count(showing.objections) == 0 with input as subjects.changed(subjects.editor_tab, "/shown/ended", false)
}
