package policies.lib.keeps_test

import data.policies.lib.keeps
import data.policies.lib.subjects_test as subjects

test_one_for_all_rules_or_the_one_that_found_a_reason if {
	every rules in [[], ["reap.dirs.landed"], ["reap.dirs.landed", "reap.dirs.disposable"]] {
		not keeps.for_other_rules(rules) with input as subjects.dir
	}
}

test_one_for_other_rules if {
	keeps.for_other_rules(["reap.dirs.disposable"]) with input as subjects.dir
}

test_one_for_a_rule_where_nothing_was_found if {
	keeps.for_other_rules(["reap.dirs.landed"]) with input as subjects.changed(subjects.dir, "/dir/git/landed", false)
}
