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

test_a_branch_of_its_own_is_another_than_the_default_one if {
	dirs.own_branch with input as subjects.dir
	not dirs.own_branch with input as subjects.changed(subjects.dir, "/dir/git/branch", "refs/heads/main")
	not dirs.own_branch with input as subjects.changed(subjects.dir, "/dir/git/branch", "")
	not dirs.own_branch with input as subjects.without(subjects.dir, ["/dir/git/upstream"])
}
