package policies.reap.dirs.scratch_test

import data.policies.reap.dirs.scratch

subject := {"dir": {"name": "scratch-7"}, "idle": 300000, "config": {"custom": {"scratch_after": 259200}}}

test_an_old_one_may_go if count(scratch.findings) == 1 with input as subject

test_a_fresh_one_stays if count(scratch.findings) == 0 with input as object.union(subject, {"idle": 60})

test_one_of_unknown_age_stays if count(scratch.findings) == 0 with input as json.remove(subject, ["idle"])

test_another_folder_is_not_in_scope if not scratch.in_scope with input as {"dir": {"name": "notes"}}
