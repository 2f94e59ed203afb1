package policies.reap.dirs.disposable_test

import data.policies.lib.subjects_test as subjects
import data.policies.main
import data.policies.reap.dirs.disposable

test_a_name_of_a_disposable_shape_may_go if {
	subjects.reasons(disposable.findings) == ["its name says that it was made to be thrown away"] with input as subjects.empty
	disposable.in_scope with input as subjects.empty
}

test_any_other_name_is_out_of_scope if {
	count(disposable.findings) == 0 with input as subjects.dir
	not disposable.in_scope with input as subjects.dir
}

test_the_shape_must_end_the_name if {
	count(disposable.findings) == 0 with input as subjects.changed(subjects.empty, "/dir/name", "x-review-1a2b3c4d-mine")
}

test_an_empty_shape_matches_nothing if {
	count(disposable.findings) == 0 with input as subjects.changed(subjects.empty, "/config/disposable_dirs", [""])
}

test_a_shape_that_is_none_matches_nothing if {
	count(disposable.findings) == 0 with input as subjects.changed(subjects.empty, "/config/disposable_dirs", ["["])
}

_left := object.union(subjects.empty, {
	"idle": 86400,
	"dir": {"name": "feature", "path": "/w/project/.claude/worktrees/feature", "root": "/w/project/.claude/worktrees"},
})

test_what_is_left_of_a_worktree_may_go if {
	subjects.reasons(disposable.findings) == ["no file but tools' own is in it, and it lies where worktrees are: it is what is left of one"] with input as _left
	main.decision.verdict == "reap" with input as _left
	every path, value in {"/dir/empty": false, "/dir/checkout": true, "/dir/root": "/w", "/idle": 3600} {
		main.decision.verdict == "spare" with input as subjects.changed(_left, path, value)
	}
	every path in ["/dir/empty", "/dir/checkout", "/dir/root", "/dir/path", "/idle", "/config/landed_after"] {
		main.decision.verdict == "spare" with input as subjects.without(_left, [path])
	}
}

test_a_missing_fact_is_no_reason if {
	every path in ["/dir/name", "/dir", "/config/disposable_dirs"] {
		count(disposable.findings) == 0 with input as subjects.without(subjects.empty, [path])
	}
}
