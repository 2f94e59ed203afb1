package policies.lib.words_test

import data.policies.lib.words

test_a_span_in_the_units_that_a_person_reads if {
	cases := {
		0: "0 s", 0.4: "0 s", 1: "1 s", 59.9: "59 s", 60: "1 min", 252: "4 min 12 s", 3600: "1 h", 3661: "1 h 1 min",
		86400: "1 d", 93784: "1 d 2 h 3 min", 3456000: "1 mo 9 d",
	}
	every seconds, text in cases {
		words.span(seconds) == text
	}
}

test_reasons_stand_in_one_line if {
	words.said({"it changed", "a hold"}, "nothing is known") == "a hold; it changed"
	words.said(set(), "nothing is known") == "nothing is known"
}

test_a_fact_that_is_missing_leaves_the_others if {
	words.known({{"age": 4}, {"idle": 2}}) == {"age": 4, "idle": 2}
	words.known(set()) == {}
}

test_a_word_of_a_command_is_quoted_where_a_shell_reads_more_than_a_word if {
	words.shell("/w/acme-7") == "/w/acme-7"
	words.shell("/w/x; rm y") == "'/w/x; rm y'"
	words.shell("/w/it's $(y)") == `'/w/it'\''s $(y)'`
	words.shell("") == "''"
}
