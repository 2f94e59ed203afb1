package policies.lib.dirs_test

import data.policies.lib.dirs
import data.policies.lib.subjects_test as subjects

test_shapes_are_those_that_match if {
	dirs.shapes == set() with input as subjects.dir
	dirs.shapes == {"-review-[0-9a-f]{8}$"} with input as subjects.empty
}

test_an_empty_word_is_no_shape if {
	dirs.shapes == set() with input as subjects.changed(subjects.empty, "/config/disposable_dirs", [""])
}

test_nothing_but_a_folder_has_one if {
	dirs.shapes == set() with input as subjects.changed(subjects.empty, "/kind", "session")
}

_declared := {
	"kind": "dir",
	"open": [],
	"host": {"home": "/home/u"},
	"dir": {"path": "/home/u/scratch/a", "root": "/home/u/scratch", "checkout": false, "symlink": false, "nested": []},
	"config": {"disposable_content": ["/w/*", "/home/u/scratch/*"]},
}

test_a_declared_folder_is_disposable if dirs.disposable with input as _declared

test_another_one_is_not if {
	every change in [
		["/kind", "session"],
		["/dir/path", "/home/u/scratch/a/deeper"],
		["/dir/path", "/home/u/scratch-2/a"],
		["/dir/checkout", true],
		["/dir/symlink", true],
		["/dir/nested", ["clone"]],
		["/dir/root", "/home/u/scratch/a"],
		["/host/home", "/home/u/scratch/a"],
		["/host/home", "/home/u/scratch/a/me"],
		["/config/disposable_content", []],
		["/config/disposable_content", ["/home/u/*"]],
		["/config/disposable_content", ["["]],
	] {
		not dirs.disposable with input as subjects.changed(_declared, change[0], change[1])
	}
}

test_what_is_not_known_is_not_disposable if {
	every path in ["/kind", "/host/home", "/dir/path", "/dir/root", "/dir/checkout", "/dir/symlink", "/dir/nested", "/config/disposable_content"] {
		not dirs.disposable with input as subjects.without(_declared, [path])
	}
}

test_a_branch_of_its_own_is_another_than_the_default_one if {
	dirs.own_branch with input as subjects.dir
	not dirs.own_branch with input as subjects.changed(subjects.dir, "/dir/git/branch", "refs/heads/main")
	not dirs.own_branch with input as subjects.changed(subjects.dir, "/dir/git/branch", "")
	not dirs.own_branch with input as subjects.without(subjects.dir, ["/dir/git/upstream"])
}

test_a_lock_of_a_worktree_that_was_being_made_names_no_process if {
	made := json.patch(subjects.dir, [
		{"op": "add", "path": "/dir/git/locked", "value": true},
		{"op": "add", "path": "/dir/git/lock", "value": {"text": "initializing", "tool": "git worktree add", "alive": false}},
	])
	dirs.unlocked with input as made
	dirs.void_lock == "; it is locked by git worktree add, which is gone" with input as made
	every path in ["/dir/git/lock/alive", "/dir/git/lock/tool", "/dir/git/lock"] {
		not dirs.unlocked with input as subjects.without(made, [path])
	}
}
