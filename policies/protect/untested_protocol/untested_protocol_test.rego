package policies.protect.untested_protocol_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.untested_protocol

test_a_protocol_that_closing_was_tried_with_is_fine if {
	count(untested_protocol.objections) == 0 with input as subjects.tab
	count(untested_protocol.objections) == 0 with input as subjects.changed(subjects.tab, "/source/server/protocol", 17)
}

test_another_protocol_keeps_and_says_how_to_allow_it if {
	every protocol in [13, 18, 21, 99, 0] {
		some objection in untested_protocol.objections with input as subjects.changed(subjects.tab, "/source/server/protocol", protocol)
		objection.message == sprintf("closing was not tried with a server of protocol %d; to allow it, add that number to rules.herdr_protocols", [protocol])
	}
}

test_the_operator_may_allow_one if {
	count(untested_protocol.objections) == 0 with input as json.patch(subjects.tab, [{"op": "add", "path": "/source/server/protocol", "value": 99}, {"op": "add", "path": "/config/herdr_protocols", "value": [99]}])
}

test_a_protocol_that_is_not_known_keeps if {
	every path, reasons in {
		"/source/server/protocol": ["the protocol of its server is not known, so closing was not tried with it"],
		"/source/server": ["the protocol of its server is not known, so closing was not tried with it"],
		"/source": ["the protocol of its server is not known, so closing was not tried with it"],
		"/config/herdr_protocols": ["closing was not tried with a server of protocol 19; to allow it, add that number to rules.herdr_protocols"],
		"/config": ["closing was not tried with a server of protocol 19; to allow it, add that number to rules.herdr_protocols"],
	} {
		subjects.reasons(untested_protocol.objections) == reasons with input as subjects.without(subjects.tab, [path])
	}
}

test_that_it_is_not_known_is_said if {
	some objection in untested_protocol.objections with input as subjects.without(subjects.tab, ["/source/server/protocol"])
	objection.message == "the protocol of its server is not known, so closing was not tried with it"
}

test_no_other_kind_is_asked if {
	every subject in [subjects.dir, subjects.session, subjects.process] {
		count(untested_protocol.objections) == 0 with input as subject
	}
}

test_editors_speak_another_protocol if {
	every tab in subjects.editor_tabs {
		count(untested_protocol.objections) == 0 with input as tab
	}
	count(untested_protocol.objections) == 1 with input as subjects.without(subjects.editor_tab, ["/tab/editor"])
}

_newer(lacks) := json.patch(subjects.tab, [
	{"op": "add", "path": "/source/server/protocol", "value": 99},
	{"op": "add", "path": "/source/server/lacks", "value": lacks},
])

_asked(subject) := subjects.changed(subject, "/asked", {"by": "user", "uid": 1000, "mine": false})

test_a_newer_server_that_has_all_is_left_for_a_person if {
	some objection in untested_protocol.objections with input as _newer([])
	objection.message == concat("", [
		"closing was not tried with a server of protocol 99; it has all that winnow uses: winnow cleanup ID --safe closes one tab; ",
		"to have it done by itself, add that number to rules.herdr_protocols",
	])
	count(untested_protocol.objections) == 0 with input as _asked(_newer([]))
}

test_a_newer_server_that_lacks_something_keeps_what_is_asked_for_too if {
	some objection in untested_protocol.objections with input as _asked(_newer(["tab.close", "tab.label"]))
	objection.message == "closing was not tried with a server of protocol 99; it lacks tab.close, tab.label, which winnow uses; look for a newer winnow"
}

test_what_is_missing_keeps_what_is_asked_for if {
	count(untested_protocol.objections) == 0 with input as _asked(_newer([]))
	every path in ["/source/server/lacks", "/source/server/protocol", "/config/herdr_protocols", "/asked"] {
		count(untested_protocol.objections) == 1 with input as subjects.without(_asked(_newer([])), [path])
	}
}
