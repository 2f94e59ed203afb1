package policies.protect.nested_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.nested

test_a_plain_folder_holds_only_its_own if {
	count(nested.objections) == 0 with input as subjects.dir
	count(nested.objections) == 0 with input as subjects.empty
}

test_a_repository_inside_stays if {
	count(nested.objections) == 1 with input as subjects.changed(subjects.dir, "/dir/git/nested", ["vendor/lib"])
}

test_a_mount_inside_stays if {
	count(nested.objections) == 1 with input as subjects.changed(subjects.dir, "/dir/mounts", 1)
	count(nested.objections) == 1 with input as subjects.changed(subjects.empty, "/dir/mounts", 1)
}

test_a_symbolic_link_stays if {
	count(nested.objections) == 1 with input as subjects.changed(subjects.dir, "/dir/symlink", true)
}

test_a_folder_with_files_and_no_repository_stays if {
	count(nested.objections) == 1 with input as subjects.changed(subjects.empty, "/dir/empty", false)
}

test_not_having_looked_keeps if {
	every path in ["/dir/git/nested", "/dir/git", "/dir/mounts", "/dir/symlink"] {
		count(nested.objections) > 0 with input as subjects.without(subjects.dir, [path])
	}
}

test_not_knowing_that_it_is_empty_keeps if {
	every path in ["/dir/empty", "/dir/checkout", "/dir/mounts", "/dir/symlink"] {
		count(nested.objections) > 0 with input as subjects.without(subjects.empty, [path])
	}
}

test_sessions_and_processes_hold_no_repositories if {
	count(nested.objections) == 0 with input as subjects.session
	count(nested.objections) == 0 with input as subjects.process
}
