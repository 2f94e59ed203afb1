# METADATA
# title: Registry entries
# description: What registries say, positively, of the owners of a candidate.
package policies.lib.registry

# METADATA
# title: Over
# description: >-
#   The places in input.entries of those whose owner is over: the record's own format says so, or it says nothing and its status
#   is a configured terminal word. Any other status, or none, is not over.
over contains place if {
	some place, entry in input.entries
	entry.terminal == true
}

over contains place if {
	some place, entry in input.entries
	count([said | said := entry.terminal]) == 0
	entry.status in input.config.terminal_statuses
}

# METADATA
# title: Owners that are over
# description: The ids of the entries that are over.
owners_over contains input.entries[place].id if some place in over
