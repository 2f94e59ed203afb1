package policies.lib.names_test

import data.policies.lib.names

test_a_name_a_beginning_and_what_the_kernel_keeps_of_one if {
	config := {"never_processes": ["git", "ssh-*", "a-name-longer-than-that"]}
	every name in ["git", "ssh-", "ssh-agent", "a-name-longer-t"] {
		names.never(name) with input.config as config
		not names.endable(name) with input.config as config
	}
	every name in ["gi", "git2", "ssh", "a-name-longer", "sleep"] {
		not names.never(name) with input.config as config
		names.endable(name) with input.config as config
	}
}

# A comma, or a brace, is a character like any other: it neither ends an entry nor makes the others match something else.
test_a_comma_is_a_part_of_the_name if {
	config := {"never_processes": ["tool,old", "{x,*", "git"]}
	every name in ["tool,old", "{x,", "{x,y", "git"] {
		names.never(name) with input.config as config
	}
	every name in ["tool", "old", "x", "y"] {
		names.endable(name) with input.config as config
	}
}

test_without_the_list_or_the_name_nothing_is_endable if {
	not names.endable("sleep") with input as {"config": {}}
	not names.endable("") with input as {"config": {"never_processes": []}}
	names.endable("sleep") with input as {"config": {"never_processes": []}}
}

test_a_protected_name_and_a_glob_that_is_none if {
	names.unprotected("mine") with input.config.protected as ["other", "data-*"]
	not names.unprotected("data-1") with input.config.protected as ["other", "data-*"]
	not names.unprotected("mine") with input.config.protected as ["["]
	not names.unprotected("mine") with input as {"config": {}}
}
