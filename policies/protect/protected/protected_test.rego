package policies.protect.protected_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.protected

test_nothing_is_protected if {
	count(protected.objections) == 0 with input as subjects.dir
	count(protected.objections) == 0 with input as subjects.session
	count(protected.objections) == 0 with input as subjects.process
	count(protected.objections) == 0 with input as subjects.empty
	every terminal in subjects.terminals {
		count(protected.objections) == 0 with input as terminal
	}
}

test_a_path_protects_the_folder if {
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as subjects.changed(subjects.dir, "/config/protected", ["/w/feature"])
}

test_a_path_protects_what_lies_below_it if {
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as subjects.changed(subjects.dir, "/config/protected", ["/w"])
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as subjects.changed(subjects.dir, "/config/protected", ["/other", "/w/*"])
}

test_a_path_protects_what_it_lies_in if {
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as subjects.changed(subjects.dir, "/config/protected", ["/w/feature/keep"])
}

test_a_longer_name_is_another_folder if {
	count(protected.objections) == 0 with input as subjects.changed(subjects.dir, "/config/protected", ["/w/feature-2", "/w/feat"])
}

test_stars_match_folders if {
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as subjects.changed(subjects.dir, "/config/protected", ["/w/feat*"])
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as subjects.changed(subjects.dir, "/config/protected", ["**/feature"])
	count(protected.objections) == 0 with input as subjects.changed(subjects.dir, "/config/protected", ["/w/x*"])
}

# /w/feature is meant by its last folders too, as in a .gitignore; a pattern that begins at the root means that place alone.
test_last_folders if {
	every pattern in ["w/feature", "w/feat*", "w/*/", "*/feature"] {
		subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as subjects.changed(subjects.dir, "/config/protected", [pattern])
	}
	every pattern in ["code/w", "v/feature", "feature/w", "w/feature-2", "/x/w/feature", "w/feature/below"] {
		count(protected.objections) == 0 with input as subjects.changed(subjects.dir, "/config/protected", [pattern])
	}
}

test_below_last_folders if {
	dir := subjects.changed(subjects.dir, "/config/protected", ["src/keep"])
	every path in ["/w/src/keep", "/w/src/keep/feature"] {
		subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as subjects.changed(dir, "/dir/path", path)
	}
	every path in ["/w/src/keep-2/feature", "/w/src/feature"] {
		count(protected.objections) == 0 with input as subjects.changed(dir, "/dir/path", path)
	}
}

test_a_name_protects if {
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as subjects.changed(subjects.dir, "/config/protected", ["feature"])
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as subjects.changed(subjects.session, "/config/protected", ["worker-*"])
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as subjects.changed(subjects.process, "/config/protected", ["node"])
}

test_an_id_protects if {
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as subjects.changed(subjects.dir, "/config/protected", ["dir:/w/feature"])
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as subjects.changed(subjects.session, "/config/protected", ["session:tmux/default/$4"])
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as subjects.changed(subjects.process, "/config/protected", ["process:812@93211"])
}

test_a_pattern_that_is_none_keeps if {
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as subjects.changed(subjects.dir, "/config/protected", ["[oops"])
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as subjects.changed(subjects.session, "/config/protected", ["[oops"])
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as subjects.changed(subjects.process, "/config/protected", ["[oops"])
}

test_a_list_that_cannot_be_compared_keeps if {
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as json.patch(subjects.dir, [{"op": "add", "path": "/config/protected", "value": ["/x"]}, {"op": "remove", "path": "/dir/path"}])
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as json.patch(subjects.session, [{"op": "add", "path": "/config/protected", "value": ["/x"]}, {"op": "remove", "path": "/session/name"}])
}

test_a_locked_worktree_stays if {
	subjects.reasons(protected.objections) == ["it is a locked worktree"] with input as subjects.changed(subjects.dir, "/dir/git/locked", true)
	subjects.reasons(protected.objections) == [`it is a locked worktree: locked with the reason "mine \"still\"": git -C /w/acme/.git worktree unlock /w/feature removes the lock`] with input as _locked({"text": `mine "still"`})
	subjects.reasons(protected.objections) == ["it is a locked worktree: locked without a reason: git -C /w/acme/.git worktree unlock /w/feature removes the lock"] with input as _locked({"text": ""})
}

test_a_lock_of_a_living_process_keeps if {
	some objection in protected.objections with input as _locked(object.union(_agents, {"alive": true}))
	objection.message == "it is a locked worktree: locked by claude agent-1 (pid 24), which is alive"
}

test_a_lock_of_a_process_that_has_ended_keeps_nothing if {
	count(protected.objections) == 0 with input as _locked(object.union(_agents, {"alive": false}))
}

test_a_lock_of_which_something_is_missing_keeps if {
	some objection in protected.objections with input as _locked(_agents)
	contains(objection.message, "of which it is not known whether it is alive")
	void := _locked(object.union(_agents, {"alive": false}))
	every path in ["/dir/git/lock", "/dir/git/lock/tool", "/dir/git/lock/alive", "/dir/uid"] {
		count(protected.objections) == 1 with input as subjects.without(void, [path])
	}
}

_agents := {"text": "claude agent agent-1 (pid 24)", "tool": "claude", "owner": "agent-1", "pid": 24}

_locked(lock) := json.patch(subjects.dir, [
	{"op": "add", "path": "/dir/git/locked", "value": true},
	{"op": "add", "path": "/dir/git/lock", "value": lock},
	{"op": "add", "path": "/dir/git/common_dir", "value": "/w/acme/.git"},
])

test_a_main_checkout_stays if {
	subjects.reasons(protected.objections) == ["it is a repository of its own"] with input as subjects.changed(subjects.dir, "/dir/git/worktree", false)
}

test_a_folder_that_little_is_known_of_stays if {
	every path, reasons in {
		"/dir/git/locked": ["whether it is a worktree, locked, or another user's is not known"],
		"/dir/git/worktree": ["whether it is a worktree, locked, or another user's is not known"],
		"/dir/git": ["whether it is a worktree, locked, or another user's is not known"],
		"/dir/uid": ["whether it is a worktree, locked, or another user's is not known"],
		"/host/uid": ["whether it is a worktree, locked, or another user's is not known"],
		"/config/protected": ["rules.protected matches it, or cannot be compared with it"],
	} {
		subjects.reasons(protected.objections) == reasons with input as subjects.without(subjects.dir, [path])
	}
}

test_a_process_that_little_is_known_of_stays if {
	every path, reasons in {
		"/lineage/personal": ["whether people use it too is not known"],
		"/lineage": ["whether people use it too is not known"],
		"/process/name": ["its name, or the user that it belongs to, is not known"],
		"/process/uid": ["its name, or the user that it belongs to, is not known"],
		"/host/uid": ["its name, or the user that it belongs to, is not known"],
		"/config/never_processes": ["its name, or the user that it belongs to, is not known"],
		"/config/multiplexers": ["its name, or the user that it belongs to, is not known"],
	} {
		subjects.reasons(protected.objections) == reasons with input as subjects.without(subjects.process, [path])
	}
}

test_a_plain_folder_is_no_repository if {
	subjects.reasons(protected.objections) == ["whether it is a worktree, locked, or another user's is not known"] with input as subjects.without(subjects.empty, ["/dir/checkout"])
	subjects.reasons(protected.objections) == ["whether it is a worktree, locked, or another user's is not known"] with input as subjects.changed(subjects.empty, "/dir/checkout", true)
}

test_what_another_user_owns_stays if {
	subjects.reasons(protected.objections) == ["it belongs to another user"] with input as subjects.changed(subjects.dir, "/dir/uid", 1001)
	subjects.reasons(protected.objections) == ["it belongs to another user"] with input as subjects.changed(subjects.process, "/process/uid", 0)
	subjects.reasons(protected.objections) == ["it belongs to another user"] with input as subjects.changed(subjects.empty, "/dir/uid", 1001)
}

test_a_daemon_that_people_use_too_stays if {
	some objection in protected.objections with input as subjects.changed(subjects.process, "/lineage/personal", "editor")
	objection.message == "people use such a program too, also when an agent started it (editor)"
}

_deaf := json.patch(subjects.process, [
	{"op": "add", "path": "/lineage/personal", "value": "language server"},
	{"op": "add", "path": "/lineage/peers", "value": []},
	{"op": "add", "path": "/lineage/sockets", "value": []},
	{"op": "add", "path": "/process/listening", "value": []},
	{"op": "add", "path": "/process/cwd_deleted", "value": true},
])

test_a_language_server_in_a_deleted_folder_that_nothing_reaches_may_go if {
	count(protected.objections) == 0 with input as _deaf
	every path, value in {
		"/lineage/personal": "editor",
		"/lineage/peers": [{"pid": 7, "name": "nvim"}],
		"/lineage/sockets": ["/tmp/gopls-daemon"],
		"/process/listening": [4389],
		"/process/cwd_deleted": false,
	} {
		count(protected.objections) == 1 with input as subjects.changed(_deaf, path, value)
	}
	every path in ["/lineage/personal", "/lineage/peers", "/lineage/sockets", "/process/listening", "/process/cwd_deleted"] {
		count(protected.objections) == 1 with input as subjects.without(_deaf, [path])
	}
}

test_processes_by_name_stay if {
	subjects.reasons(protected.objections) == ["rules.never_processes has its name"] with input as subjects.changed(subjects.process, "/process/name", "git")
	subjects.reasons(protected.objections) == ["rules.never_processes has its name"] with input as subjects.changed(subjects.process, "/process/name", "git-remote-https")
	subjects.reasons(protected.objections) == ["rules.never_processes has its name"] with input as subjects.changed(subjects.process, "/process/name", "ssh-agent")
	subjects.reasons(protected.objections) == ["rules.never_processes has its name"] with input as subjects.changed(subjects.process, "/process/name", "containerd-shim")
	subjects.reasons(protected.objections) == ["it is a multiplexer's server"] with input as subjects.changed(subjects.process, "/process/name", "tmux: server")
	subjects.reasons(protected.objections) == ["it is a multiplexer's server"] with input as subjects.changed(subjects.process, "/process/name", "screen")
}

test_a_name_that_only_begins_alike_may_go if {
	count(protected.objections) == 0 with input as subjects.changed(subjects.process, "/process/name", "gitk")
	count(protected.objections) == 0 with input as subjects.changed(subjects.process, "/process/name", "ssh")
	count(protected.objections) == 0 with input as subjects.changed(subjects.process, "/process/name", "screenshot")
}

test_a_list_of_one_name_and_an_empty_one_work if {
	subjects.reasons(protected.objections) == ["rules.never_processes has its name"] with input as json.patch(subjects.process, [{"op": "add", "path": "/config/never_processes", "value": ["node"]}])
	count(protected.objections) == 0 with input as subjects.changed(subjects.process, "/config/never_processes", [])
}

test_a_kernel_thread_stays if {
	subjects.reasons(protected.objections) == ["it is a kernel thread"] with input as subjects.changed(subjects.process, "/process/kernel", true)
}

_listed(terminal, patterns) := subjects.changed(terminal, "/config/protected", patterns)

test_a_terminal_is_protected_by_its_id_its_label_or_whose_it_is if {
	every pattern in ["terminal:codev/default/b26afcb2-e6ce-4410-9950-93df6cbfe922", "terminal:codev/*/b26*", "terminal-04739283", "terminal-*", "builder-pir-883", "builder-*"] {
		subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as _listed(subjects.terminal, ["/other", pattern])
	}
	every pattern in ["builder", "terminal", "builder-pir-8", "terminal:codev/default/b26afcb2", "/home/u/acme"] {
		count(protected.objections) == 0 with input as _listed(subjects.terminal, ["/other", pattern])
	}
}

test_a_label_that_reads_like_a_pattern_is_protected_as_it_stands if {
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as _listed(subjects.changed(subjects.terminal, "/terminal/label", "Dev: [a]"), ["Dev: [a]"])
}

test_a_terminal_without_a_label_is_compared_by_the_rest if {
	nameless := subjects.without(subjects.terminal, ["/terminal/label"])
	count(protected.objections) == 0 with input as _listed(nameless, ["Shell *"])
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as _listed(nameless, ["builder-*"])
	count(protected.objections) == 0 with input as _listed(subjects.shellper, ["Shell *"])
	subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as _listed(subjects.shellper, ["terminal:codev/default/pid-*"])
}

test_a_terminal_that_cannot_be_compared_stays if {
	every terminal in subjects.terminals {
		subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as _listed(terminal, ["[oops"])
		subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as _listed(subjects.without(terminal, ["/terminal/id"]), ["x"])
		subjects.reasons(protected.objections) == ["rules.protected matches it, or cannot be compared with it"] with input as subjects.without(terminal, ["/config/protected"])
	}
}

test_an_architects_terminal_stays if {
	some objection in protected.objections with input as subjects.changed(subjects.exited, "/terminal/role_kind", "architect")
	objection.message == "it is an architect's terminal"
}

test_a_terminal_of_nobody_known_stays if {
	every terminal in [subjects.without(subjects.exited, ["/terminal/role_kind"]), subjects.changed(subjects.exited, "/terminal/role_kind", "")] {
		some objection in protected.objections with input as terminal
		objection.message == "whether it is an architect's terminal is not known"
	}
}
