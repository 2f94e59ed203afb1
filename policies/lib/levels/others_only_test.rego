package policies.lib.levels_test

import data.policies.lib.levels
import data.policies.lib.subjects_test as subjects

test_one_for_all_rules_or_the_one_that_found_a_reason if {
	every rules in [[], ["reap.dirs.landed"], ["reap.dirs.landed", "reap.dirs.disposable"]] {
		not levels.others_only(rules) with input as subjects.dir
	}
}

test_one_for_other_rules if {
	levels.others_only(["reap.dirs.disposable"]) with input as subjects.dir
}

test_one_for_a_rule_where_nothing_was_found if {
	levels.others_only(["reap.dirs.landed"]) with input as subjects.changed(subjects.dir, "/dir/git/landed", false)
}
