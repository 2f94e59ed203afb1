# METADATA
# title: Not known
# description: Keeps what rests on something that could not be read.
# custom:
#   kinds: all
#   summary: {rank: 130, group: not fully known}
#   parameters: [rules.recorded_folders]
package policies.protect.unknown

import data.policies.lib.levels

# METADATA
# title: A source was not read whole
# description: A source that the candidate or evidence about it rests on is not ok.
objections contains {
	"message": $"{name} could not be read: {status}",
	"evidence": {"source": name, "status": status},
} if {
	some name, status in input.evidence_sources
	status != "ok"
	not name in _serverless
}

# METADATA
# title: It or its source is not known
# description: Its source, the processes or the ledger were not read whole, or its identity for a later look.
objections contains {
	"message": "its source, the processes, the ledger or its identity could not be read whole",
	"evidence": {name: input.source[fact] | some fact, name in {"name": "source", "status": "status"}},
} if not _known

# METADATA
# title: A process was read in part
# description: No rule about processes names such a process in its METADATA (custom.candidates), so little was read.
objections contains {"message": _unnamed, "evidence": {"partial": true}} if input.process.partial

# METADATA
# title: The levels of the rules are not known
# description: Which rules are off, or only observe, is missing from the input.
objections contains {"message": _levels_unknown, "evidence": {}} if not levels.known

# METADATA
# title: The records of its folder were not read
# description: The folder lies where an orchestrator keeps its worktrees, and not all of its records were read.
objections contains {
	"message": $"it lies where {folder.format} keeps its worktrees, and the records of {folder.format} were not read",
	"evidence": folder,
} if {
	input.kind == "dir"
	some place, folder in input.config.recorded_folders
	not place in _accounted
}

_unnamed := $"it was read in part only, because {_partial}: take candidates out of the rule that found it"
_partial := "no rule names such a process in its METADATA (candidates)"
_levels_unknown := "which rules are turned off is not known (rules.levels)"

# The folder is not of that name, and lies in none.
_accounted contains place if {
	input.dir.path != ""
	some place, folder in input.config.recorded_folders
	contains(concat("", [input.dir.path, "/"]), concat("", ["/", folder.name, "/"])) == false
}

_accounted contains place if {
	some place, folder in input.config.recorded_folders
	every records in ["spawns", "registry"] {
		concat(":", [records, folder.format]) in input.records_read
	}
}

_known if {
	input.source.status == "ok"
	input.evidence_sources.proc == "ok"
	input.evidence_sources.ledger == "ok"
	_identified
}

_identified if input.identity != ""

# Then the objection of its own says so.
_identified if input.process.partial

_serverless contains name if {
	some name, status in input.evidence_sources
	status == "absent"
	strings.any_prefix_match(name, ["tmux/", "herdr/"])
}
