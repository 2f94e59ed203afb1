# METADATA
# title: Owned
# description: Keeps what an orchestrator has not let go.
# custom:
#   kinds: all
#   needs: [markers]
#   summary:
#     - {rank: 70, group: may be of an agent that is alive, evidence: [agent, possible_agent]}
#     - {rank: 71, group: have an owner on record that has not ended}
#   parameters:
#     rules.grace.spawn: "how long a completed spawn still keeps what it names"
#     rules.terminal_statuses: "the words that say an owner has ended"
#     rules.disposable_dirs: "the names that are to be thrown away"
#     rules.id_markers: "markers whose value says whose a process is"
#     rules.marker_records: "markers that name a session on record, and the format of the registries that know it"
#     rules.pid_markers: "markers that name the agent's process"
package policies.protect.owned

import data.policies.lib.dirs
import data.policies.lib.processes
import data.policies.lib.provenance
import data.policies.lib.reasons
import data.policies.lib.registry

# METADATA
# title: A spawn is open
# description: A spawn of the candidate is not completed, or was not long ago, and its owner is not known to have ended.
objections contains {
	"rule": "protect.owned",
	"message": reasons.or_default(_completed(place), "a spawn ledger says that it is in use"),
	"evidence": {name: fact | some name, fact in spawn; name in {"source", "id", "path"}},
} if {
	some place, spawn in input.spawns
	not place in _let_go
}

# METADATA
# title: A registry entry is live
# description: A registry entry of the candidate has not positively ended.
objections contains {
	"rule": "protect.owned",
	"message": "a registry records an owner of it that has not ended",
	"evidence": {name: fact | some name, fact in entry; name in {"source", "id", "status"}},
} if {
	some place, entry in input.entries
	not place in registry.over
	not place in _not_owners
}

# METADATA
# title: Whether a record means it is not known
# description: Records name folders or labels, and where the process or session works, or what the tab is called, is not known.
objections contains {
	"rule": "protect.owned",
	"message": "whether a record names its folder or its label is not known: where it works, or what it is called, could not be read",
	"evidence": {},
} if {
	input.kind in {"process", "session", "tab"}
	not _records_known
}

# METADATA
# title: It belongs to somebody
# description: A registry entry, ended or not, names the folder or something in it, although its name says that it is to be thrown away.
objections contains {
	"rule": "protect.owned",
	"message": "a registry records this folder as an owner's, so it is not disposable",
	"evidence": {"entries": [entry.id | some entry in input.entries; entry.by == "path"]},
} if {
	input.kind == "dir"
	some entry in input.entries
	entry.by == "path"
	not _kept_by_name
}

# METADATA
# title: Its session is not on record here
# description: >-
#   A marker of the process names a session of an orchestrator that keeps records, and no record here knows that session: another
#   instance may own it, another user's or one whose records are elsewhere. It counts for nothing where the agent that started the process
#   is positively gone. Or whether there is such a marker could not be read.
objections contains {
	"rule": "protect.owned",
	"message": reasons.or_default(_stranger, "whether it belongs to a session that another instance has on record is not known"),
	"evidence": {
		"markers": {marker | some marker in input.lineage.strangers},
		"registries": _formats,
		"read": {format | some format in _formats; concat(":", ["registry", format]) in input.records_read},
	},
} if {
	input.kind == "process"
	not _on_record
}

# METADATA
# title: An agent lives that may have started it
# description: >-
#   A living agent is old enough to have started the process, and nothing says positively that another one did; or whether there is such an agent
#   is not known.
objections contains {
	"rule": "protect.owned",
	"message": reasons.or_default(_starter, "whether an agent lives that may have started it is not known"),
	"evidence": reasons.evidence(_agents),
} if {
	input.kind == "process"
	not _no_starter
}

_agents contains {"agent": input.lineage.agent}

_agents contains {"agents": input.lineage.agents}

_agents contains {"possible_agent": input.lineage.possible_agent}

_agents contains {"seen": input.lineage.seen}

_no_starter if {
	count(input.lineage.markers) == 0
	not input.lineage.seen
}

_no_starter if provenance.free

_no_starter if provenance.duplicate

_no_starter if {
	provenance.deaf
	provenance.handed_over
}

_no_starter if {
	processes.busy
	processes.no_listener
	processes.own_markers
	registry.marked_over
}

_no_starter if {
	input.process.cwd_deleted == true
	input.host.container == false
	input.process.ppid in input.host.orphan_parents
	some folder in input.config.worktree_folders
	folder != ""
	contains(input.process.cwd, concat("", ["/", folder, "/"]))
}

_starter contains $"{input.lineage.agent.name} ({input.lineage.agent.pid}) lives, is above it, and may have started it" if {
	input.lineage.agents > 0
	input.lineage.agent_ancestor == true
}

_starter contains $"{input.lineage.agent.name} ({input.lineage.agent.pid}) lives, and may have started it" if {
	input.lineage.agents > 0
	not input.lineage.agent_ancestor == true
}

_starter contains $"{input.lineage.possible_agent.name} ({input.lineage.possible_agent.pid}) may be an agent, does not show it, and may have started it" if {
	input.lineage.possible_agent.pid > 0
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
_completed(place) := {$"a spawn of it was completed {reasons.span(ago)} ago; at least {reasons.span(input.config.grace.spawn)} is required" |
	ago := input.spawns[place].completed
}

_kept_by_name if {
	input.dir.name != ""
	count(dirs.shapes) == 0
}

# Who started a spawn of the candidate does not own the candidate itself: it says when the spawn is let go, and nothing more.
_not_owners contains place if {
	some place, entry in input.entries
	entry.by == "spawn"
}

# A marker tells whose a process is better than the folder that it stands in, where it was not handed down.
_not_owners contains place if {
	input.kind == "process"
	processes.own_markers
	registry.marked_over
	some place, entry in input.entries
	entry.by == "path"
}

_records_known if {
	input.spawns_known == true
	input.entries_known == true
}

# An entry of its folder would count for nothing, as above.
_records_known if {
	input.spawns_known == true
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

# One that has only just begun was begun by a person or program, also against the record of the owner.
_let_go contains place if {
	some place, spawn in input.spawns
	spawn.owner != ""
	spawn.owner in registry.owners_over
	spawn.age >= input.config.grace.spawn
}
