package policies.reap.dirs.landed_test

import data.policies.lib.subjects_test as subjects
import data.policies.reap.dirs.landed

# All that is on record of a branch besides its commits.
_recorded(subject) := json.patch(subject, [
	{"op": "add", "path": "/signs", "value": ["the remote branch is gone", "Graphite records pull request 12 as merged"]},
	{"op": "add", "path": "/dir/git/followed", "value": "refs/remotes/origin/fix"},
	{"op": "add", "path": "/dir/git/followed_gone", "value": true},
	{"op": "add", "path": "/dir/git/pull_requests", "value": [{"by": "Graphite", "number": 12, "state": "merged", "head": subject.dir.git.head}]},
	{"op": "add", "path": "/entries", "value": [{"source": "registry/shepherd", "id": "w7", "by": "path", "own": true, "path": subject.dir.path, "status": "archived", "terminal": true, "ended": 200000, "pull_request": {"by": "Shepherd", "number": 12, "state": "merged"}}]},
])

# A branch that was brought here with two commits, and squashed there.
_brought := json.patch(_by("squash", [_first]), [
	{"op": "replace", "path": "/dir/git/commits", "value": 0},
	{"op": "add", "path": "/dir/git/ahead", "value": 2},
	{"op": "replace", "path": "/idle", "value": 259200},
])

test_a_branch_that_was_brought_here_may_go_after_days if {
	subjects.reasons(landed.findings) == ["its work was squashed into origin/main as 1a2b3c4d5e, and nothing has happened in it for 3d"] with input as _brought
	count(landed.findings) == 0 with input as subjects.changed(_brought, "/idle", 259199)
}

test_a_branch_without_commits_of_its_own_has_not_landed if {
	count(landed.findings) == 0 with input as subjects.changed(_brought, "/dir/git/ahead", 0)
	count(landed.findings) == 0 with input as subjects.changed(_brought, "/dir/git/landing/by", "")
	count(landed.findings) == 0 with input as subjects.changed(_brought, "/dir/git/landed", true)
	every path in ["/dir/git/commits", "/dir/git/landed", "/dir/git/ahead", "/dir/git/landing", "/idle", "/config/abandoned_after"] {
		count(landed.findings) == 0 with input as subjects.without(_brought, [path])
	}
}

test_a_lock_that_counts_for_nothing_is_named if {
	locked := json.patch(subjects.dir, [
		{"op": "add", "path": "/dir/git/locked", "value": true},
		{"op": "add", "path": "/dir/git/lock", "value": {"text": "claude agent agent-1 (pid 24)", "tool": "claude", "owner": "agent-1", "pid": 24, "alive": false}},
	])
	subjects.reasons(landed.findings) == ["all its work is on origin/main, and nothing has happened in it for 1d3h; it is locked by claude agent-1 (pid 24), which is gone"] with input as locked
	every alive in [true, null] {
		some finding in landed.findings with input as subjects.changed(locked, "/dir/git/lock/alive", alive)
		endswith(finding.message, "for 1d3h")
	}
}

test_records_are_evidence_beside_a_proof if {
	some finding in landed.findings with input as _recorded(subjects.dir)
	finding.evidence.signs == ["the remote branch is gone", "Graphite records pull request 12 as merged"]
}

test_records_without_a_proof_are_nothing if {
	unproven := subjects.changed(subjects.dir, "/dir/git/landed", false)
	count(landed.findings) == 0 with input as _recorded(unproven)
	count(landed.findings) == 0 with input as _recorded(subjects.changed(unproven, "/dir/git/landing", {"by": "", "into": "refs/remotes/origin/main", "commits": []}))
	count(landed.findings) == 0 with input as _recorded(subjects.without(subjects.dir, ["/dir/git/landed"]))
}

test_a_clean_worktree_whose_work_is_upstream_has_landed if {
	subjects.reasons(landed.findings) == ["all its work is on origin/main, and nothing has happened in it for 1d3h"] with input as subjects.dir
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
	subjects.reasons(landed.findings) == ["all its work is on origin/main, and nothing has happened in it for 1d"] with input as subjects.changed(subjects.dir, "/idle", 86400)
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

# A worktree whose head the default branch does not reach, with a proof of another kind.
_by(how, commits) := json.patch(subjects.changed(subjects.dir, "/dir/git/landed", false), [{"op": "add", "path": "/dir/git/landing", "value": {"by": how, "into": "refs/remotes/origin/main", "commits": commits}}])

_first := "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"

_last := "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c"

test_a_squash_is_named_with_its_commit if {
	subjects.reasons(landed.findings) == ["its work was squashed into origin/main as 1a2b3c4d5e, and nothing has happened in it for 1d3h"] with input as _by("squash", [_first])
}

test_a_rebase_is_named_with_its_commits if {
	subjects.reasons(landed.findings) == ["each of its commits is on origin/main too, as 1a2b3c4d5e, and nothing has happened in it for 1d3h"] with input as _by("patches", [_first])
	subjects.reasons(landed.findings) == ["each of its commits is on origin/main too, as 1a2b3c4d5e to 9f8e7d6c5b, and nothing has happened in it for 1d3h"] with input as _by("patches", [_first, _last])
}

test_a_merge_that_changes_nothing_is_a_proof if {
	subjects.reasons(landed.findings) == ["a merge of it would change nothing on origin/main, and nothing has happened in it for 1d3h"] with input as _by("tree", [])
}

test_a_proof_is_in_the_evidence if {
	some finding in landed.findings with input as _by("squash", [_first])
	finding.evidence.landing == {"by": "squash", "into": "refs/remotes/origin/main", "commits": [_first]}
}

test_what_is_no_proof_is_none if {
	count(landed.findings) == 0 with input as _by("", [])
	count(landed.findings) == 0 with input as _by("hearsay", [_first])
	count(landed.findings) == 0 with input as _by("squash", [])
	count(landed.findings) == 0 with input as _by("patches", [])
	count(landed.findings) == 0 with input as subjects.changed(_by("squash", [_first]), "/dir/git/landing/into", "refs/remotes/fork/main")
	count(landed.findings) == 0 with input as subjects.changed(_by("tree", []), "/dir/git/landing/into", "")
}

test_a_proof_makes_up_for_nothing_else if {
	every path, value in {"/dir/git/dirty": 1, "/dir/git/untracked": 1, "/dir/git/ignored": 1, "/dir/git/unreachable_commits": 1, "/dir/git/commits": 0, "/dir/git/registered": false, "/idle": 86399} {
		count(landed.findings) == 0 with input as subjects.changed(_by("squash", [_first]), path, value)
	}
}

test_a_missing_fact_is_no_proof if {
	every path in ["/dir/git/landing", "/dir/git/landing/by", "/dir/git/landing/into", "/dir/git/landing/commits", "/dir/git/upstream", "/dir/git/branch"] {
		count(landed.findings) == 0 with input as subjects.without(_by("squash", [_first]), [path])
	}
}

test_the_default_branch_itself_has_not_landed if {
	every branch in ["refs/heads/main", "refs/heads/master", "main", "refs/heads/trunk"] {
		count(landed.findings) == 0 with input as subjects.changed(subjects.dir, "/dir/git/branch", branch)
	}
	develop := subjects.changed(subjects.dir, "/dir/git/upstream", "refs/remotes/origin/develop")
	count(landed.findings) == 1 with input as develop
	count(landed.findings) == 0 with input as subjects.changed(develop, "/dir/git/branch", "refs/heads/develop")
}

test_a_detached_tree_has_no_branch if {
	count(landed.findings) == 1 with input as json.patch(subjects.without(subjects.dir, ["/dir/git/branch"]), [{"op": "add", "path": "/dir/git/detached", "value": true}])
	count(landed.findings) == 0 with input as json.patch(subjects.without(subjects.dir, ["/dir/git/branch"]), [{"op": "add", "path": "/dir/git/detached", "value": false}])
}

test_a_missing_fact_is_no_landing if {
	every path in ["/dir/git/worktree", "/dir/git/registered", "/dir/git/head", "/dir/git/branch", "/dir/git/upstream", "/dir/git/landed", "/dir/git/commits", "/dir/git/unreachable_commits", "/dir/git/dirty", "/dir/git/untracked", "/dir/git/ignored", "/dir/git", "/dir", "/idle", "/config/landed_after"] {
		count(landed.findings) == 0 with input as subjects.without(subjects.dir, [path])
	}
}

# A branch that was made from another one than the default branch, and has landed there.
_based(how, into) := json.patch(_by(how, [_first]), [
	{"op": "add", "path": "/dir/git/bases", "value": ["refs/remotes/origin/develop"]},
	{"op": "replace", "path": "/dir/git/landing/into", "value": into},
])

test_a_proof_on_the_branch_that_it_was_made_from_counts if {
	subjects.reasons(landed.findings) == ["its work was squashed into origin/develop as 1a2b3c4d5e, and nothing has happened in it for 1d3h"] with input as _based("squash", "refs/remotes/origin/develop")
	subjects.reasons(landed.findings) == ["all its work is on origin/develop, and nothing has happened in it for 1d3h"] with input as _based("ancestry", "refs/remotes/origin/develop")
	count(landed.findings) == 1 with input as _based("squash", "refs/remotes/origin/main")
}

test_a_proof_on_any_other_branch_does_not_count if {
	count(landed.findings) == 0 with input as _based("squash", "refs/remotes/origin/side")
	count(landed.findings) == 0 with input as _based("squash", "")
	count(landed.findings) == 0 with input as subjects.changed(_based("squash", "refs/remotes/origin/develop"), "/dir/git/bases", [])
	every path in ["/dir/git/bases", "/dir/git/landing", "/dir/git/landing/into", "/dir/git/landing/by", "/dir/git/upstream"] {
		count(landed.findings) == 0 with input as subjects.without(_based("ancestry", "refs/remotes/origin/develop"), [path])
	}
}

test_a_worktree_of_a_branch_on_which_work_lands_stays if {
	named := subjects.changed(subjects.dir, "/config/landing_branches", ["develop", "release/*"])
	count(landed.findings) == 1 with input as named
	count(landed.findings) == 0 with input as subjects.changed(named, "/dir/git/branch", "refs/heads/develop")
	count(landed.findings) == 0 with input as subjects.changed(named, "/dir/git/branch", "refs/heads/release/1")
	count(landed.findings) == 1 with input as subjects.changed(named, "/dir/git/branch", "refs/heads/release/1/fix")
	count(landed.findings) == 0 with input as subjects.without(subjects.dir, ["/config/landing_branches"])
}

_answered(request) := json.patch(subjects.changed(subjects.dir, "/dir/git/landed", false), [
	{"op": "add", "path": "/dir/git/pull_requests", "value": [request]},
])

_merged := {"by": "forge", "number": 7, "state": "merged", "head": subjects.dir.dir.git.head}

test_a_request_that_was_merged_at_this_very_commit_is_a_proof if {
	subjects.reasons(landed.findings) == ["its pull request 7 was merged at this very commit, and nothing has happened in it for 1d3h"] with input as _answered(_merged)
	every other in [{"state": "closed"}, {"state": "open"}, {"by": "configuration"}, {"head": "0000"}] {
		count(landed.findings) == 0 with input as _answered(object.union(_merged, other))
	}
	every name in ["by", "state", "head"] {
		count(landed.findings) == 0 with input as _answered(object.remove(_merged, [name]))
	}
}
