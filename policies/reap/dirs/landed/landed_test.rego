package policies.reap.dirs.landed_test

import data.policies.lib.subjects_test as subjects
import data.policies.reap.dirs.landed

test_a_clean_worktree_whose_work_is_upstream_has_landed if {
	subjects.reasons(landed.findings) == ["reap.dirs.landed: all its work is on refs/remotes/origin/main, and nothing has happened in it for 1 d 3 h 46 min"] with input as subjects.dir
	landed.in_scope with input as subjects.dir
}

test_a_branch_that_has_only_just_begun_has_not_landed if {
	count(landed.findings) == 0 with input as subjects.changed(subjects.dir, "/dir/git/commits", 0)
}

test_work_that_is_not_upstream_has_not_landed if {
	count(landed.findings) == 0 with input as subjects.changed(subjects.dir, "/dir/git/landed", false)
}

test_commits_that_only_this_tree_reaches_have_not_landed if {
	count(landed.findings) == 0 with input as subjects.changed(subjects.dir, "/dir/git/unreachable_commits", 1)
}

test_files_that_are_not_upstream_have_not_landed if {
	count(landed.findings) == 0 with input as subjects.changed(subjects.dir, "/dir/git/dirty", 1)
	count(landed.findings) == 0 with input as subjects.changed(subjects.dir, "/dir/git/untracked", 1)
	count(landed.findings) == 0 with input as subjects.changed(subjects.dir, "/dir/git/ignored", 1)
}

test_a_tree_that_was_active_lately_has_not_landed if {
	count(landed.findings) == 0 with input as subjects.changed(subjects.dir, "/idle", 86399)
	subjects.reasons(landed.findings) == ["reap.dirs.landed: all its work is on refs/remotes/origin/main, and nothing has happened in it for 1 d"] with input as subjects.changed(subjects.dir, "/idle", 86400)
}

test_a_tree_that_the_repository_does_not_know_has_not_landed if {
	count(landed.findings) == 0 with input as subjects.changed(subjects.dir, "/dir/git/registered", false)
}

test_a_main_checkout_is_out_of_scope if {
	count(landed.findings) == 0 with input as subjects.changed(subjects.dir, "/dir/git/worktree", false)
	not landed.in_scope with input as subjects.changed(subjects.dir, "/dir/git/worktree", false)
}

test_a_plain_folder_is_out_of_scope if {
	not landed.in_scope with input as subjects.empty
}

test_a_missing_fact_is_no_landing if {
	every path in ["/dir/git/worktree", "/dir/git/registered", "/dir/git/head", "/dir/git/upstream", "/dir/git/landed", "/dir/git/commits", "/dir/git/unreachable_commits", "/dir/git/dirty", "/dir/git/untracked", "/dir/git/ignored", "/dir/git", "/dir", "/idle", "/kind", "/config/landed_after"] {
		count(landed.findings) == 0 with input as subjects.without(subjects.dir, [path])
	}
}
