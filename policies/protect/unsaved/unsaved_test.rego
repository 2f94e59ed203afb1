package policies.protect.unsaved_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.unsaved

test_nothing_is_lost_with_a_clean_worktree if {
	count(unsaved.objections) == 0 with input as subjects.dir
}

test_nothing_is_lost_with_an_empty_folder if {
	count(unsaved.objections) == 0 with input as subjects.empty
}

test_changed_files_stay if {
	some objection in unsaved.objections with input as subjects.changed(subjects.dir, "/dir/git/dirty", 2)
	objection.message == "it holds work that is nowhere else: changed files: 2"
}

test_untracked_files_stay if {
	some objection in unsaved.objections with input as subjects.changed(subjects.dir, "/dir/git/untracked", 1)
	objection.message == "it holds work that is nowhere else: untracked files: 1"
}

test_ignored_files_stay if {
	some objection in unsaved.objections with input as subjects.changed(subjects.dir, "/dir/git/ignored", 3)
	objection.message == "it holds work that is nowhere else: ignored files that cannot be rebuilt: 3"
}

test_commits_of_a_detached_head_stay if {
	some objection in unsaved.objections with input as subjects.changed(subjects.dir, "/dir/git/unreachable_commits", 1)
	objection.message == "it holds work that is nowhere else: commits that nothing else reaches: 1"
}

test_what_is_on_record_of_its_branch_is_said_and_saves_nothing if {
	signs := ["the remote branch is gone", "Shepherd records pull request 12 as merged"]
	lost := subjects.changed(subjects.dir, "/dir/git/unreachable_commits", 1)
	every subject in [lost, subjects.changed(lost, "/signs", [])] {
		subjects.reasons(unsaved.objections) == ["it holds work that is nowhere else: commits that nothing else reaches: 1"] with input as subject
	}
	some objection in unsaved.objections with input as subjects.changed(lost, "/signs", signs)
	objection.message == "it holds work that is nowhere else: commits that nothing else reaches: 1; on record: the remote branch is gone and Shepherd records pull request 12 as merged, which is no proof that these have landed"
	objection.evidence.signs == signs
	count(unsaved.objections) == 0 with input as subjects.changed(subjects.dir, "/signs", signs)
}

test_files_of_a_stopped_rebase_stay if {
	some objection in unsaved.objections with input as subjects.changed(subjects.dir, "/dir/git/operation", "rebase")
	objection.message == "it holds work that is nowhere else: under way: rebase"
}

test_ignored_files_are_named if {
	some objection in unsaved.objections with input as json.patch(subjects.dir, [
		{"op": "add", "path": "/dir/git/ignored", "value": 1},
		{"op": "add", "path": "/dir/git/ignored_paths", "value": [".env"]},
	])
	objection.evidence.ignored_paths == [".env"]
}

test_what_was_not_looked_into_stays_and_says_why if {
	some objection in unsaved.objections with input as json.patch(subjects.dir, [
		{"op": "remove", "path": "/dir/git/dirty"},
		{"op": "add", "path": "/dir/skipped", "value": "a process uses it"},
	])
	objection.message == "it was not looked into, because a process uses it"
}

test_a_repository_of_its_own_stays if {
	subjects.reasons(unsaved.objections) == ["it is a repository of its own, and what it holds may be nowhere else"] with input as subjects.changed(subjects.dir, "/dir/git/worktree", false)
}

test_files_in_no_repository_stay if {
	subjects.reasons(unsaved.objections) == ["it holds files that are in no repository"] with input as subjects.changed(subjects.empty, "/dir/empty", false)
}

test_not_having_looked_keeps if {
	every path in ["/dir/git/worktree", "/dir/git/dirty", "/dir/git/untracked", "/dir/git/ignored", "/dir/git/unreachable_commits", "/dir/git/operation", "/dir/git", "/dir"] {
		subjects.reasons(unsaved.objections) == ["whether it holds unsaved work is not known"] with input as subjects.without(subjects.dir, [path])
	}
}

test_not_knowing_that_it_is_empty_keeps if {
	every path in ["/dir/empty", "/dir/checkout"] {
		subjects.reasons(unsaved.objections) == ["whether it holds unsaved work is not known"] with input as subjects.without(subjects.empty, [path])
	}
}

test_sessions_and_processes_are_no_folders if {
	count(unsaved.objections) == 0 with input as subjects.session
	count(unsaved.objections) == 0 with input as subjects.process
}

test_reports_stay_until_every_spawn_is_completed if {
	count(unsaved.objections) == 0 with input as _reported([{"source": "s", "by": "path", "completed": 900}])
	every spawns in [
		[],
		[{"source": "s", "by": "path"}],
		[{"source": "s", "by": "path", "completed": 899}],
		[{"source": "s", "by": "path", "completed": 900}, {"source": "s", "by": "path"}],
		[{"source": "s", "by": "session", "completed": 900}],
		[{"source": "s", "completed": 900}],
	] {
		subjects.reasons(unsaved.objections) == ["it holds work that is nowhere else: ignored files that cannot be rebuilt: 2, untracked files: 1"] with input as _reported(spawns)
	}
}

test_other_files_beside_reports_stay if {
	reported := _reported([{"source": "s", "by": "path", "completed": 900}])
	every reason, change in {
		"ignored files that cannot be rebuilt: 2, untracked files: 2": ["/dir/git/untracked", 2],
		"ignored files that cannot be rebuilt: 3, untracked files: 1": ["/dir/git/ignored", 3],
		"ignored files that cannot be rebuilt: 2, untracked files: 1": ["/dir/git/reports", 2],
		"changed files: 1, ignored files that cannot be rebuilt: 2, untracked files: 1": ["/dir/git/dirty", 1],
		"commits that nothing else reaches: 1, ignored files that cannot be rebuilt: 2, untracked files: 1": ["/dir/git/unreachable_commits", 1],
		"ignored files that cannot be rebuilt: 2, under way: merge, untracked files: 1": ["/dir/git/operation", "merge"],
	} {
		subjects.reasons(unsaved.objections) == [$"it holds work that is nowhere else: {reason}"] with input as subjects.changed(reported, change[0], change[1])
	}
}

test_not_knowing_which_are_reports_keeps if {
	reported := _reported([{"source": "s", "by": "path", "completed": 900}])
	every path, reasons in {
		"/dir/git/reports": ["it holds work that is nowhere else: ignored files that cannot be rebuilt: 2, untracked files: 1"],
		"/dir/git/untracked": ["it holds work that is nowhere else: ignored files that cannot be rebuilt: 2"],
		"/dir/git/ignored": ["it holds work that is nowhere else: untracked files: 1"],
		"/spawns": ["it holds work that is nowhere else: ignored files that cannot be rebuilt: 2, untracked files: 1"],
		"/spawns/0/by": ["it holds work that is nowhere else: ignored files that cannot be rebuilt: 2, untracked files: 1"],
		"/spawns/0/completed": ["it holds work that is nowhere else: ignored files that cannot be rebuilt: 2, untracked files: 1"],
		"/config/grace/spawn": ["it holds work that is nowhere else: ignored files that cannot be rebuilt: 2, untracked files: 1"],
		"/dir/git/worktree": ["it holds work that is nowhere else: ignored files that cannot be rebuilt: 2, untracked files: 1"],
	} {
		subjects.reasons(unsaved.objections) == reasons with input as subjects.without(reported, [path])
	}
}

test_scaffold_is_no_work_and_is_said if {
	count(unsaved.objections) == 0 with input as subjects.changed(subjects.dir, "/dir/git/scaffold", 4)
	some objection in unsaved.objections with input as json.patch(subjects.dir, [
		{"op": "add", "path": "/dir/git/scaffold", "value": 4},
		{"op": "add", "path": "/dir/git/untracked", "value": 1},
	])
	objection.evidence.scaffold == 4
}

# One report is untracked and two are ignored.
_reported(spawns) := json.patch(subjects.dir, [
	{"op": "add", "path": "/dir/git/untracked", "value": 1},
	{"op": "add", "path": "/dir/git/ignored", "value": 2},
	{"op": "add", "path": "/dir/git/reports", "value": 3},
	{"op": "add", "path": "/spawns", "value": spawns},
])

_scratch := json.patch(subjects.dir, [
	{"op": "remove", "path": "/dir/git"},
	{"op": "add", "path": "/dir/path", "value": "/home/u/scratch/a"},
	{"op": "add", "path": "/dir/root", "value": "/home/u/scratch"},
	{"op": "add", "path": "/dir/checkout", "value": false},
	{"op": "add", "path": "/dir/empty", "value": false},
	{"op": "add", "path": "/dir/nested", "value": []},
	{"op": "add", "path": "/host/home", "value": "/home/u"},
	{"op": "add", "path": "/config/disposable_content", "value": ["/home/u/scratch/*"]},
])

test_files_that_are_declared_disposable_are_no_work if count(unsaved.objections) == 0 with input as _scratch

test_files_in_no_repository_are_work if {
	every change in [
		["/config/disposable_content", []],
		["/config/disposable_content", ["/home/u/other/*"]],
		["/dir/nested", ["clone"]],
		["/dir/checkout", true],
		["/dir/skipped", "there are too many files in it"],
		["/host/home", "/home/u/scratch/a/home"],
	] {
		count(unsaved.objections) == 1 with input as subjects.changed(_scratch, change[0], change[1])
	}
}

test_not_knowing_whether_files_are_disposable_keeps if {
	every path in ["/config/disposable_content", "/dir/nested", "/dir/checkout", "/dir/symlink", "/dir/root", "/host/home"] {
		count(unsaved.objections) == 1 with input as subjects.without(_scratch, [path])
	}
}

test_files_are_named_with_how_they_stand_to_the_main_checkout if {
	some objection in unsaved.objections with input as json.patch(subjects.dir, [
		{"op": "add", "path": "/dir/git/ignored", "value": 1},
		{"op": "add", "path": "/dir/git/ignored_paths", "value": [".env"]},
		{"op": "add", "path": "/dir/git/differing_paths", "value": [".env"]},
	])
	objection.message == "it holds work that is nowhere else: ignored files that cannot be rebuilt: 1 (.env differs from the main checkout's; add to rules.rebuildable what may go)"
}

test_a_folder_without_a_mark_of_its_maker_is_named if {
	some objection in unsaved.objections with input as json.patch(subjects.dir, [
		{"op": "add", "path": "/dir/git/ignored", "value": 1},
		{"op": "add", "path": "/dir/git/ignored_paths", "value": ["build/"]},
		{"op": "add", "path": "/dir/git/only_here_paths", "value": ["build/"]},
		{"op": "add", "path": "/dir/git/unmarked_paths", "value": ["build/"]},
	])
	contains(objection.message, "build/ has no mark of a tool that made it (rules.makers)")
}

test_only_the_first_few_files_are_named if {
	some objection in unsaved.objections with input as json.patch(subjects.dir, [
		{"op": "add", "path": "/dir/git/untracked", "value": 15},
		{"op": "add", "path": "/dir/git/untracked_paths", "value": ["a", "b", "c", "d", "e"]},
		{"op": "add", "path": "/dir/git/only_here_paths", "value": ["a", "b", "d", "e"]},
	])
	objection.message == "it holds work that is nowhere else: untracked files: 15 (a is in this folder only, b is in this folder only, c was not compared with the main checkout's and 12 more)"
}

test_what_was_not_reached_in_time_stays_and_says_why if {
	some objection in unsaved.objections with input as json.patch(subjects.without(subjects.dir, ["/dir/git/dirty"]), [{"op": "add", "path": "/dir/error", "value": "it was not reached"}])
	objection.message == "not all of it was read: it was not reached"
}
