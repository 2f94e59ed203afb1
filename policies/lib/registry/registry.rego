# METADATA
# title: Registry entries
# description: What registries say, positively, of the owners of a candidate.
package policies.lib.registry

# The places in input.entries of those whose owner has ended, by the record's format or by a configured word.
over contains place if {
	some place, entry in input.entries
	entry.terminal == true
}

over contains place if {
	some place, entry in input.entries
	entry.status in input.config.terminal_statuses
	not entry.terminal == false
}

# The places in input.spawns of those that were completed long enough ago.
completed contains place if {
	some place, spawn in input.spawns
	spawn.completed >= input.config.grace.spawn
}

# The places of the entries that say nothing of an end. Where its time could not be read, the source failed.
endless contains place if {
	some place, entry in input.entries
	entry.endless == true
}

# The places of the entries that mean the session by its name or id, and no other session as well.
of_session contains place if {
	some place, entry in input.entries
	entry.by == "session"
	entry.shared == false
}

# The ids of the entries that have ended. Of several with one id every one must be.
owners_over contains id if {
	some place in over
	id := input.entries[place].id
	not id in _live
}

_live contains entry.id if {
	some place, entry in input.entries
	not place in over
}

# The places of the entries whose owner's processes carry the value that this process has of an identifying marker.
marked contains place if {
	some place, entry in input.entries
	entry.by == "marker"
	entry.marker != ""
	some name in input.config.id_markers
	input.process.markers[name] == entry.marker
}

# True when an identifying marker of the process names an owner, and all that any of its markers names have ended.
marked_over if {
	count(marked) > 0
	count(input.entries) == count({place | some place, entry in input.entries; entry.by != "marker"} | over)
}
