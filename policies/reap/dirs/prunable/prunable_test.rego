package policies.reap.dirs.prunable_test

import data.policies.lib.subjects_test as subjects
import data.policies.main
import data.policies.reap.dirs.prunable

test_an_entry_whose_folder_is_gone_may_go if {
	prunable.in_scope with input as subjects.gone
	findings := prunable.findings with input as subjects.gone
	subjects.reasons(findings) == ["its folder is gone; git still lists it"]
	decision := main.decision with input as subjects.gone
	decision.verdict == "reap"
}

test_a_detached_one_may_go_too if {
	detached := json.patch(json.remove(subjects.gone, ["/dir/git/branch"]), [{"op": "add", "path": "/dir/git/detached", "value": true}])
	count(prunable.findings) == 1 with input as detached
}

test_a_folder_that_is_there_is_another_story if {
	not prunable.in_scope with input as subjects.dir
	count(prunable.findings) == 0 with input as subjects.dir
	count(prunable.findings) == 0 with input as subjects.changed(subjects.gone, "/dir/gone", false)
}

test_what_is_nowhere_else_stays if {
	every path, value in {
		"/dir/git/staged": 1,
		"/dir/git/unreachable_commits": 1,
		"/dir/git/operation": "rebase",
		"/dir/git/nested": ["modules/lib"],
		"/dir/git/registered": false,
		"/dir/git/worktree": false,
		"/dir/git/locked": true,
		"/dir/git/head": "",
	} {
		count(prunable.findings) == 0 with input as subjects.changed(subjects.gone, path, value)
		main.decision.verdict == "spare" with input as subjects.changed(subjects.gone, path, value)
	}
}

test_a_lock_whose_process_has_ended_does_not_count if {
	locked := json.patch(subjects.gone, [
		{"op": "replace", "path": "/dir/git/locked", "value": true},
		{"op": "add", "path": "/dir/git/lock", "value": {"text": "claude agent a1 (pid 7)", "tool": "claude", "pid": 7, "owner": "a1", "alive": false}},
	])
	count(prunable.findings) == 1 with input as locked
	count(prunable.findings) == 0 with input as subjects.changed(locked, "/dir/git/lock/alive", true)
	count(prunable.findings) == 0 with input as subjects.without(locked, ["/dir/git/lock/alive"])
}

test_one_that_was_used_lately_stays if {
	count(prunable.findings) == 0 with input as subjects.changed(subjects.gone, "/idle", 1799)
	count(prunable.findings) == 1 with input as subjects.changed(subjects.gone, "/idle", subjects.gone.config.landed_after)
	count(prunable.findings) == 0 with input as subjects.changed(subjects.gone, "/idle", -1)
}

test_what_is_not_known_stays if {
	every path in [
		"/dir/gone", "/dir/git", "/dir/git/worktree", "/dir/git/registered", "/dir/git/head", "/dir/git/staged", "/dir/git/unreachable_commits",
		"/dir/git/operation", "/dir/git/nested", "/dir/git/locked", "/dir/symlink", "/dir/mounts", "/idle", "/config/landed_after",
	] {
		main.decision.verdict == "spare" with input as subjects.without(subjects.gone, [path])
	}
}

test_who_uses_it_keeps_it if {
	every path, value in {
		"/hold": {"owner": "ann", "reason": "demo"},
		"/holders": [{"pid": 77, "name": "zsh", "how": "cwd"}],
		"/dir/holders_known": false,
		"/config/protected": ["feature"],
		"/entries": [{"source": "registry/workers", "id": "w7", "status": "running", "by": "path", "path": "/w/feature"}],
		"/dir/mounts": 1,
		"/dir/uid": 1001,
		"/age": 60,
	} {
		main.decision.verdict == "spare" with input as subjects.changed(subjects.gone, path, value)
	}
}

_lost := json.patch(json.remove(subjects.dir, ["/dir/git/head", "/dir/git/branch", "/dir/git/landed", "/dir/git/commits"]), [
	{"op": "add", "path": "/dir/git/lost", "value": true},
	{"op": "add", "path": "/dir/git/registered", "value": false},
	{"op": "add", "path": "/dir/git/admin_dir", "value": "/w/acme/.git/worktrees/feature"},
	{"op": "add", "path": "/dir/path", "value": "/w/acme.worktrees/feature"},
	{"op": "add", "path": "/idle", "value": 345600},
])

test_a_folder_without_its_entry_may_go_when_each_file_of_it_has_landed if {
	prunable.in_scope with input as _lost
	findings := prunable.findings with input as _lost
	subjects.reasons(findings) == ["git does not list it any more, and its files are on origin/main, as they are or as they were"]
	main.decision.verdict == "reap" with input as _lost
}

test_a_folder_without_its_entry_stays_when_it_has_something_of_its_own if {
	every path, value in {
		"/dir/git/lost": false,
		"/dir/git/admin_dir": "/w/acme/.git/worktrees/other",
		"/dir/path": "/w/feature",
		"/dir/git/untracked": 1,
		"/dir/git/nested": ["modules/lib"],
		"/dir/git/locked": true,
		"/dir/git/operation": "rebase",
		"/dir/git/unreachable_commits": 1,
		"/idle": 1799,
		"/holders": [{"pid": 77, "name": "zsh", "how": "cwd"}],
		"/dir/holders_known": false,
		"/dir/pointers": [{"kind": "link", "path": "/w/acme/node_modules"}],
		"/hold": {"owner": "ann", "reason": "demo"},
		"/config/protected": ["feature"],
	} {
		main.decision.verdict == "spare" with input as subjects.changed(_lost, path, value)
	}
}

test_a_folder_without_its_entry_stays_where_a_fact_is_missing if {
	every path in [
		"/dir/git/lost", "/dir/git/admin_dir", "/dir/path", "/dir/name", "/dir/git/untracked", "/dir/git/upstream", "/dir/git/nested", "/dir/git/locked", "/dir/git/dirty",
		"/dir/git/ignored", "/dir/git/unreachable_commits", "/dir/git/operation", "/dir/git", "/idle", "/dir/holders_known",
		"/holders", "/dir/pointers", "/dir/mounts", "/dir/symlink",
	] {
		main.decision.verdict == "spare" with input as subjects.without(_lost, [path])
	}
}
