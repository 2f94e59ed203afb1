package policies.lib.reasons_test

import data.policies.lib.reasons

test_a_span_in_the_units_that_a_person_reads if {
	cases := {
		-5: "0s", 0: "0s", 0.4: "0s", 1: "1s", 59.9: "59s", 60: "1m", 252: "4m12s", 3600: "1h", 3661: "1h1m", 7205: "2h",
		86400: "1d", 88200: "1d", 93784: "1d2h", 3456000: "40d", 3474000: "40d5h", 9000000000000: "104166666d",
	}
	every seconds, text in cases {
		reasons.span(seconds) == text
	}
}

test_reasons_stand_in_one_line if {
	reasons.or_default({"it changed", "a hold"}, "nothing is known") == "a hold; it changed"
	reasons.or_default(set(), "nothing is known") == "nothing is known"
}

test_a_fact_that_is_missing_leaves_the_others if {
	reasons.evidence({{"age": 4}, {"idle": 2}}) == {"age": 4, "idle": 2}
	reasons.evidence(set()) == {}
}

test_a_branch_as_a_person_says_it if {
	reasons.branch("refs/remotes/origin/main") == "origin/main"
	reasons.branch("refs/heads/main") == "main"
	reasons.branch("main") == "main"
}

test_a_word_of_a_command_is_quoted_where_a_shell_reads_more_than_a_word if {
	reasons.shell("/w/acme-7") == "/w/acme-7"
	reasons.shell("/w/x; rm y") == "'/w/x; rm y'"
	reasons.shell("/w/it's $(y)") == `'/w/it'\''s $(y)'`
	reasons.shell("") == "''"
}
