# METADATA
# title: Owned
# description: >-
#   Keeps what an orchestrator has not let go: a spawn that is open or has only just completed, a registry entry that is not
#   positively over, a session's own folder that only looks like one to be thrown away, and a process whose session is on no record
#   here. That nobody has recorded the candidate proves nothing else and is no other objection.
package policies.protect.owned

import data.policies.lib.dirs
import data.policies.lib.processes
import data.policies.lib.registry
import data.policies.lib.words

# METADATA
# title: A spawn is open
# description: A spawn of the candidate is not completed, or was not long ago, and its owner is not known to be over.
objections contains {
	"rule": "protect.owned",
	"message": words.said(_completed(place), "a spawn ledger says that it is in use"),
	"evidence": {name: fact | some name, fact in spawn; name in {"source", "id", "path"}},
} if {
	some place, spawn in input.spawns
	not place in _let_go
}

# METADATA
# title: A registry entry is live
# description: A registry entry of the candidate is not positively over.
objections contains {
	"rule": "protect.owned",
	"message": "a registry records an owner of it that has not ended",
	"evidence": {name: fact | some name, fact in entry; name in {"source", "id", "status"}},
} if {
	some place, entry in input.entries
	not place in registry.over
	not place in _beside
}

# METADATA
# title: It is somebody's own folder
# description: A registry entry, over or not, names the folder or something in it, although its name says that it is to be thrown away.
objections contains {
	"rule": "protect.owned",
	"message": "a registry records the folder itself, so it only looks like one to be thrown away",
	"evidence": {"entries": [entry.id | some entry in input.entries; entry.by == "path"]},
} if {
	input.kind == "dir"
	some entry in input.entries
	entry.by == "path"
	not _kept_by_name
}

# METADATA
# title: Its session is on no record here
# description: >-
#   A marker of the process names a session of an orchestrator that keeps records, and no record here knows that session: another
#   instance may own it, another user's or one whose records are elsewhere. It counts for nothing where the agent that started the process
#   is positively gone. Or whether there is such a marker could not be read.
objections contains {
	"rule": "protect.owned",
	"message": words.said(_stranger, "whether it belongs to a session that another instance has on record is not known"),
	"evidence": {"markers": {marker | some marker in input.lineage.strangers}, "registries": {format | some format in _formats}, "read": {format | some format in _formats; concat(":", ["registry", format]) in input.records_read}},
} if {
	input.kind == "process"
	not _on_record
}

_on_record if count(input.lineage.strangers) == 0

_on_record if input.lineage.starter_gone == true

# The formats of the registries that might know it.
_formats contains record.format if {
	some record in input.config.marker_records
	record.marker in input.lineage.strangers
}

_stranger contains $"{concat(", ", input.lineage.strangers)} names a session that no registry here knows: another instance may own it" if {
	count(input.lineage.strangers) > 0
}

# Nothing for a spawn that is open.
_completed(place) := {$"a spawn of it was completed {words.span(ago)} ago; at least {words.span(input.config.grace.spawn)} is asked" |
	ago := input.spawns[place].completed
}

_kept_by_name if {
	input.dir.name != ""
	count(dirs.shapes) == 0
}

# Who started a spawn of the candidate does not own the candidate itself: it says when the spawn is let go, and nothing more.
_beside contains place if {
	some place, entry in input.entries
	entry.by == "spawn"
}

# A marker tells whose a process is better than the folder that it stands in, where nobody handed it down.
_beside contains place if {
	some place, entry in input.entries
	entry.by == "path"
	input.kind == "process"
	processes.own_markers
	registry.marked_over
}

_let_go contains place if {
	some place, spawn in input.spawns
	spawn.completed >= input.config.grace.spawn
}

# A spawn and its owner's entry may be the same record.
_let_go contains place if {
	some place, spawn in input.spawns
	spawn.id != ""
	spawn.id in registry.owners_over
}

# One that has only just begun was begun by somebody, whatever is on record of the owner.
_let_go contains place if {
	some place, spawn in input.spawns
	spawn.owner != ""
	spawn.owner in registry.owners_over
	spawn.age >= input.config.grace.spawn
}
