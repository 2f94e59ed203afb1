package policies.protect.nested_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.nested

test_a_plain_folder_holds_only_its_own if {
	count(nested.objections) == 0 with input as subjects.dir
	count(nested.objections) == 0 with input as subjects.empty
}

test_a_repository_inside_stays if {
	subjects.reasons(nested.objections) == ["another repository lies in it: vendor/lib"] with input as subjects.changed(subjects.dir, "/dir/git/nested", ["vendor/lib"])
}

test_a_mount_inside_stays if {
	subjects.reasons(nested.objections) == ["a mount point is or lies in it"] with input as subjects.changed(subjects.dir, "/dir/mounts", 1)
	subjects.reasons(nested.objections) == ["a mount point is or lies in it"] with input as subjects.changed(subjects.empty, "/dir/mounts", 1)
}

test_a_symbolic_link_stays if {
	subjects.reasons(nested.objections) == ["it is a symbolic link"] with input as subjects.changed(subjects.dir, "/dir/symlink", true)
}

# A folder that is no checkout, with files in it.
_filled(more) := subjects.changed(subjects.empty, "/dir", object.union_n([subjects.empty.dir, {"empty": false}, more]))

test_a_folder_with_files_and_no_repository_holds_only_its_own if {
	count(nested.objections) == 0 with input as _filled({"nested": []})
}

test_a_folder_with_files_and_a_repository_stays if {
	some objection in nested.objections with input as _filled({"nested": ["vendor/lib"]})
	objection.message == "another repository lies in it: vendor/lib"
	objection.evidence.repositories == ["vendor/lib"]
}

test_a_folder_with_files_that_was_not_looked_into_stays if {
	subjects.reasons(nested.objections) == ["whether another repository or a mount point lies in it is not known"] with input as _filled({})
	some objection in nested.objections with input as _filled({"skipped": "it holds too much"})
	objection.message == "it was not looked into, because it holds too much"
}

test_a_checkout_that_something_cheaper_keeps_needs_no_look if {
	skipped := subjects.changed(subjects.without(subjects.dir, ["/dir/git/nested"]), "/dir/skipped", "it is in use")
	count(nested.objections) == 0 with input as skipped
	subjects.reasons(nested.objections) == ["it was not looked into, because it is in use"] with input as subjects.without(skipped, ["/dir/checkout"])
}

test_not_having_looked_keeps if {
	every path in ["/dir/git/nested", "/dir/git", "/dir/mounts", "/dir/symlink"] {
		subjects.reasons(nested.objections) == ["whether another repository or a mount point lies in it is not known"] with input as subjects.without(subjects.dir, [path])
	}
}

test_not_knowing_that_it_is_empty_keeps if {
	every path in ["/dir/empty", "/dir/checkout", "/dir/mounts", "/dir/symlink"] {
		subjects.reasons(nested.objections) == ["whether another repository or a mount point lies in it is not known"] with input as subjects.without(subjects.empty, [path])
	}
}

test_sessions_and_processes_hold_no_repositories if {
	count(nested.objections) == 0 with input as subjects.session
	count(nested.objections) == 0 with input as subjects.process
}
