package policies.reap.dirs.unused_test

import data.policies.lib.subjects_test as subjects
import data.policies.reap.dirs.unused

# A worktree that was made four days ago, and nothing since.
_dir := json.patch(subjects.dir, [
	{"op": "replace", "path": "/dir/git/commits", "value": 0},
	{"op": "replace", "path": "/age", "value": 345600},
	{"op": "replace", "path": "/idle", "value": 345600},
])

# One on a branch that the default branch does not reach, and another branch does.
_elsewhere := json.patch(_dir, [
	{"op": "replace", "path": "/dir/git/landed", "value": false},
	{"op": "add", "path": "/dir/git/elsewhere", "value": true},
])

# One that looks at a commit of some branch.
_detached := json.patch(json.remove(_dir, ["/dir/git/branch", "/dir/git/landed", "/dir/git/upstream"]), [{"op": "add", "path": "/dir/git/detached", "value": true}])

test_a_worktree_in_which_nothing_was_done_may_go_after_days if {
	every one in [_dir, _elsewhere, _detached] {
		subjects.reasons(unused.findings) == ["nothing was ever done in it, and nobody has touched it for 4d"] with input as one
		unused.in_scope with input as one
	}
}

test_a_worktree_that_was_made_lately_waits if {
	count(unused.findings) == 0 with input as subjects.changed(_dir, "/idle", 259199)
	count(unused.findings) == 1 with input as subjects.changed(_dir, "/idle", 259200)
}

test_a_worktree_with_a_commit_is_another_story if {
	count(unused.findings) == 0 with input as subjects.changed(_dir, "/dir/git/commits", 1)
}

test_commits_that_only_its_own_branch_keeps_stay if {
	count(unused.findings) == 0 with input as subjects.changed(_elsewhere, "/dir/git/elsewhere", false)
	count(unused.findings) == 0 with input as subjects.without(_elsewhere, ["/dir/git/elsewhere"])
}

test_work_of_any_kind_is_something if {
	every path, value in {"/dir/git/dirty": 1, "/dir/git/untracked": 1, "/dir/git/ignored": 1, "/dir/git/unreachable_commits": 1, "/dir/git/operation": "rebase", "/dir/git/nested": ["in"], "/dir/git/registered": false, "/dir/git/head": ""} {
		every one in [_dir, _elsewhere, _detached] {
			count(unused.findings) == 0 with input as subjects.changed(one, path, value)
		}
	}
}

test_the_default_branch_itself_stays if {
	count(unused.findings) == 0 with input as subjects.changed(_dir, "/dir/git/branch", "refs/heads/main")
}

test_a_main_checkout_is_out_of_scope if {
	count(unused.findings) == 0 with input as subjects.changed(_dir, "/dir/git/worktree", false)
	not unused.in_scope with input as subjects.changed(_dir, "/dir/git/worktree", false)
}

test_a_plain_folder_is_out_of_scope if {
	not unused.in_scope with input as subjects.empty
}

test_a_missing_fact_keeps if {
	every path in ["/dir/git/worktree", "/dir/git/registered", "/dir/git/head", "/dir/git/branch", "/dir/git/upstream", "/dir/git/landed", "/dir/git/commits", "/dir/git/unreachable_commits", "/dir/git/dirty", "/dir/git/untracked", "/dir/git/ignored", "/dir/git/operation", "/dir/git/nested", "/dir/git", "/dir", "/idle", "/config/abandoned_after"] {
		count(unused.findings) == 0 with input as subjects.without(_dir, [path])
	}
	every path in ["/dir/git/detached", "/dir/git/commits", "/dir/git/unreachable_commits", "/idle"] {
		count(unused.findings) == 0 with input as subjects.without(_detached, [path])
	}
}
