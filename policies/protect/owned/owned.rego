# METADATA
# title: Owned
# description: Keeps what an orchestrator has not let go.
# custom:
#   kinds: all
#   needs: [markers]
#   summary:
#     - {rank: 70, group: may be of an agent that is alive, evidence: [agent, possible_agent]}
#     - {rank: 71, group: have an owner on record that has not ended}
#   parameters: [rules.grace.spawn, rules.terminal_statuses, rules.disposable_dirs, rules.id_markers,
#     rules.marker_records, rules.pid_markers]
package policies.protect.owned

import data.policies.lib.dirs
import data.policies.lib.processes
import data.policies.lib.provenance
import data.policies.lib.reasons
import data.policies.lib.registry

# METADATA
# title: A spawn is open
# description: A spawn of the candidate is not completed, or was not long ago, and its owner is not known to have ended.
objections contains reasons.keep(_completed(place), "a spawn ledger says that it is in use", {facts}) if {
	some place, spawn in input.spawns
	not place in _let_go
	facts := {name: fact | some name, fact in spawn; name in {"source", "id", "path"}}
}

# METADATA
# title: A registry entry is live
# description: A registry entry of the candidate has not positively ended.
objections contains {
	"message": "a registry records an owner of it that has not ended",
	"evidence": {name: fact | some name, fact in entry; name in {"source", "id", "status"}},
} if {
	some place, entry in input.entries
	not place in registry.over
	not place in _not_owners
}

# METADATA
# title: Whether a record means it is not known
# description: Records name folders or labels, and where it works, or what it is called, is not known.
objections contains {"message": _records_unknown, "evidence": {}} if {
	input.kind in {"process", "session", "tab"}
	not _records_known
}

# METADATA
# title: It belongs to somebody
# description: A registry entry, ended or not, names the folder or something in it, although its name is disposable.
objections contains {
	"message": "a registry records this folder as an owner's, so it is not disposable",
	"evidence": {"entries": [entry.id | some entry in input.entries; entry.by == "path"]},
} if {
	input.kind == "dir"
	count(_of_folder) > 0
	not _kept_by_name
}

# METADATA
# title: Its session is not on record here
# description: >-
#   A marker of it names a session of an orchestrator that keeps records, and no record here knows that session:
#   another instance may own it. The agent that started it is not known to be gone. Or there may be such a marker.
objections contains reasons.keep(_stranger, _stranger_unknown, _strangers) if {
	input.kind == "process"
	not _on_record
}

# METADATA
# title: An agent lives that may have started it
# description: A living agent is old enough to have started it, or may be, and nothing says that another one did.
objections contains reasons.keep(_starter, "whether an agent lives that may have started it is not known", _agents) if {
	input.kind == "process"
	not provenance.starterless
	not provenance.unneeded
}

# METADATA
# title: Its pull request is open
# description: The forge says that a pull request of its branch is open, or did not answer (collect.forge).
objections contains reasons.keep_first([_open, _unasked], _request_unknown, _requests) if {
	input.dir.git.worktree == true
	not _no_open_request
}

_records_unknown := "whether a record names its folder or its label is not known: one of them could not be read"

# Nothing for a spawn that is open.
_completed(place) := {$"a spawn of it was completed {reasons.too_short(ago, input.config.grace.spawn)}" |
	ago := input.spawns[place].completed
}

_kept_by_name if {
	input.dir.name != ""
	count(dirs.shapes) == 0
}

_of_folder := [place | some place, entry in input.entries; entry.by == "path"]
_spawners := [place | some place, entry in input.entries; entry.by == "spawn"]

# Who started a spawn of the candidate does not own the candidate itself: it says when the spawn is let go.
_not_owners contains place if some place in _spawners

# A marker tells whose a process is better than the folder that it stands in, where it was not handed down.
_not_owners contains place if {
	_marked_over
	some place in _of_folder
}

_records_known if {
	input.spawns_known == true
	_entries_known
}

_entries_known if input.entries_known == true

_entries_known if _marked_over

_marked_over if {
	input.kind == "process"
	processes.own_markers
	registry.marked_over
}

_let_go contains place if some place in registry.completed

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

_stranger_unknown := "whether it belongs to a session that another instance has on record is not known"

_strangers contains {
	"markers": {marker | some marker in input.lineage.strangers}, "registries": _formats,
	"read": {format | some format in _formats; $"registry:{format}" in input.records_read},
}

_agents contains {name: input.lineage[name] | some name in {"agent", "agents", "possible_agent", "seen"}}
_starter contains $"{_agent} runs and may own it; it may go once that {_ended}" if input.lineage.agents > 0

_starter contains $"{possible.name} ({possible.pid}) may be an agent, does not show it, and may own it" if {
	possible := input.lineage.possible_agent
	possible.pid > 0
}

_ended := reasons.or_default({$"and {input.lineage.agents - 1} more end" | input.lineage.agents > 1}, "ends")
_agent := $"{input.lineage.agent.name} ({input.lineage.agent.pid})"
_on_record if count(input.lineage.strangers) == 0
_on_record if input.lineage.starter_gone == true

# The formats of the registries that might know it.
_formats contains record.format if {
	some record in input.config.marker_records
	record.marker in input.lineage.strangers
}

_stranger contains $"{concat(", ", input.lineage.strangers)} {_unrecorded}" if count(input.lineage.strangers) > 0
_unrecorded := "names a session that no registry here knows: another instance may own it"
_request_unknown := "whether a pull request of its branch is open is not known"
_unasked contains $"{_request_unknown}: {input.dir.git.forge_error}" if input.dir.git.forge_error != ""
_requests contains {"pull_requests": input.dir.git.pull_requests}
_open contains $"its pull request {request.number} is open" if some request in _open_requests

_open_requests contains request if {
	some request in input.dir.git.pull_requests
	request.by == "forge"
	request.state == "open"
}

_no_open_request if input.config.forge == "off"
_no_open_request if input.dir.gone == true
_no_open_request if input.dir.git.detached == true

# Git shows that its work has landed.
_no_open_request if input.dir.git.landed == true
_no_open_request if input.dir.git.landing.by in {"patches", "squash", "tree"}

_no_open_request if {
	input.dir.git.forge_asked == true
	is_array(input.dir.git.pull_requests)
	count(_open_requests) == 0
}
