package policies.reap.dirs.owner_ended_test

import data.policies.lib.subjects_test as subjects
import data.policies.reap.dirs.owner_ended

# A worktree on a branch that has not landed, and the entry of its owner, who has ended.
_dir := json.patch(subjects.dir, [
	{"op": "replace", "path": "/dir/git/landed", "value": false},
	{"op": "replace", "path": "/dir/git/commits", "value": 0},
	{"op": "add", "path": "/made", "value": 200000},
	{"op": "add", "path": "/entries", "value": [_entry]},
])

_entry := {"source": "registry/workers", "id": "w7", "status": "completed", "by": "path", "path": subjects.dir.dir.path, "own": true, "started": 199000, "ended": 90000, "endless": false}

_asked := {"by": "user", "uid": 1000, "mine": true}

# One without a record, where its user says that it may go.
_mine := json.patch(json.remove(_dir, ["/entries"]), [
	{"op": "add", "path": "/asked", "value": _asked},
	{"op": "add", "path": "/dir/uid", "value": 1000},
])

test_a_clean_worktree_whose_owner_is_over_may_go if {
	subjects.reasons(owner_ended.findings) == ["the registry says that its owner has ended, and it holds nothing that is not in the repository"] with input as _dir
	owner_ended.in_scope with input as _dir
}

test_a_record_may_say_so_itself if {
	subjects.reasons(owner_ended.findings) == ["the registry says that its owner has ended, and it holds nothing that is not in the repository"] with input as json.patch(_dir, [{"op": "add", "path": "/entries/0/terminal", "value": true}, {"op": "remove", "path": "/entries/0/status"}])
}

test_a_record_that_says_the_opposite_wins_over_its_status if {
	count(owner_ended.findings) == 0 with input as json.patch(_dir, [{"op": "add", "path": "/entries/0/terminal", "value": false}])
}

test_any_other_word_is_not_over if {
	count(owner_ended.findings) == 0 with input as subjects.changed(_dir, "/entries/0/status", "done")
}

test_work_of_any_kind_is_something if {
	every path, value in {"/dir/git/dirty": 1, "/dir/git/untracked": 1, "/dir/git/ignored": 1, "/dir/git/unreachable_commits": 1, "/dir/git/operation": "rebase", "/dir/git/nested": ["in"], "/dir/git/registered": false, "/dir/git/head": ""} {
		count(owner_ended.findings) == 0 with input as subjects.changed(_dir, path, value)
		count(owner_ended.findings) == 0 with input as subjects.changed(_mine, path, value)
	}
}

test_an_owner_of_an_earlier_folder_of_that_path_was_another_one if {
	count(owner_ended.findings) == 0 with input as subjects.changed(_dir, "/entries/0/ended", 200001)
}

test_an_end_in_the_future_is_none if {
	count(owner_ended.findings) == 0 with input as subjects.changed(_dir, "/entries/0/ended", -1)
}

test_an_entry_of_something_in_it_does_not_speak_of_it if {
	count(owner_ended.findings) == 0 with input as subjects.changed(_dir, "/entries/0/path", concat("", [subjects.dir.dir.path, "/sub"]))
}

test_an_entry_that_only_started_something_in_it_does_not_speak_of_it if {
	count(owner_ended.findings) == 0 with input as subjects.changed(_dir, "/entries/0/by", "spawn")
}

test_a_folder_that_an_owner_only_worked_in_is_not_its_own if {
	count(owner_ended.findings) == 0 with input as subjects.changed(_dir, "/entries/0/own", false)
}

test_an_owner_that_another_record_calls_live_is_not_over if {
	live := object.union(_entry, {"status": "running"})
	count(owner_ended.findings) == 0 with input as json.patch(_dir, [{"op": "add", "path": "/entries/1", "value": live}])
	subjects.reasons(owner_ended.findings) == ["the registry says that its owner has ended, and it holds nothing that is not in the repository"] with input as json.patch(_dir, [{"op": "add", "path": "/entries/1", "value": object.union(live, {"id": "w8"})}])
}

test_a_tree_that_was_active_lately_waits_unless_somebody_asks if {
	active := subjects.changed(_dir, "/idle", 86399)
	count(owner_ended.findings) == 0 with input as active
	subjects.reasons(owner_ended.findings) == ["the registry says that its owner has ended, and it holds nothing that is not in the repository"] with input as json.patch(active, [{"op": "add", "path": "/asked", "value": object.union(_asked, {"mine": false})}])
	count(owner_ended.findings) == 0 with input as json.patch(active, [{"op": "add", "path": "/asked", "value": object.union(_asked, {"mine": false, "uid": 1001})}])
}

test_an_entry_that_says_nothing_of_an_end_is_enough_for_who_asks if {
	unsaid := subjects.changed(json.remove(_dir, ["/entries/0/ended"]), "/entries/0/endless", true)
	count(owner_ended.findings) == 0 with input as unsaid
	subjects.reasons(owner_ended.findings) == ["the registry says that its owner has ended, and it holds nothing that is not in the repository"] with input as json.patch(unsaid, [{"op": "add", "path": "/asked", "value": object.union(_asked, {"mine": false})}])
	count(owner_ended.findings) == 0 with input as json.patch(unsaid, [{"op": "remove", "path": "/entries/0/endless"}, {"op": "add", "path": "/asked", "value": object.union(_asked, {"mine": false})}])
	earlier := subjects.changed(_dir, "/entries/0/ended", 200001)
	count(owner_ended.findings) == 0 with input as json.patch(earlier, [{"op": "add", "path": "/asked", "value": object.union(_asked, {"mine": false})}])
}

test_the_users_own_word_is_enough if {
	subjects.reasons(owner_ended.findings) == ["its user says that it is theirs and may go, and it holds nothing that is not in the repository"] with input as _mine
	subjects.reasons(owner_ended.findings) == ["its user says that it is theirs and may go, and it holds nothing that is not in the repository"] with input as subjects.changed(_mine, "/idle", 1)
}

test_asking_alone_is_not_saying_that_it_is_ones_own if {
	count(owner_ended.findings) == 0 with input as subjects.changed(_mine, "/asked/mine", false)
}

test_a_folder_of_another_user_is_not_ones_own if {
	count(owner_ended.findings) == 0 with input as subjects.changed(_mine, "/dir/uid", 1001)
	count(owner_ended.findings) == 0 with input as subjects.changed(_mine, "/asked/uid", 1001)
	count(owner_ended.findings) == 0 with input as subjects.changed(_mine, "/host/uid", 1001)
	count(owner_ended.findings) == 0 with input as subjects.changed(_mine, "/asked/by", "somebody")
}

test_a_main_checkout_is_out_of_scope if {
	main := subjects.changed(_mine, "/dir/git/worktree", false)
	count(owner_ended.findings) == 0 with input as main
	not owner_ended.in_scope with input as main
}

test_a_missing_fact_is_no_end if {
	every path in ["/entries", "/entries/0/status", "/entries/0/by", "/entries/0/own", "/entries/0/path", "/entries/0/id", "/entries/0/ended", "/made", "/idle", "/dir", "/dir/path", "/dir/git", "/dir/git/worktree", "/dir/git/registered", "/dir/git/head", "/dir/git/dirty", "/dir/git/untracked", "/dir/git/ignored", "/dir/git/unreachable_commits", "/dir/git/operation", "/dir/git/nested", "/config/terminal_statuses", "/config/landed_after"] {
		count(owner_ended.findings) == 0 with input as subjects.without(_dir, [path])
	}
	every path in ["/asked", "/asked/by", "/asked/uid", "/asked/mine", "/host/uid", "/host", "/dir/uid", "/dir/git/worktree", "/dir/git/dirty", "/dir/git/untracked", "/dir/git/ignored", "/dir/git/unreachable_commits", "/dir/git/operation", "/dir/git/nested"] {
		count(owner_ended.findings) == 0 with input as subjects.without(_mine, [path])
	}
}
