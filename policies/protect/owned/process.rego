package policies.protect.owned

import data.policies.lib.provenance
import data.policies.lib.reasons

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

_stranger_unknown := "whether it belongs to a session that another instance has on record is not known"

_strangers contains {
	"markers": {marker | some marker in input.lineage.strangers},
	"registries": _formats,
	"read": {format | some format in _formats; $"registry:{format}" in input.records_read},
}

_agents contains {name: input.lineage[name] | some name in {"agent", "agents", "possible_agent", "seen"}}

_starter contains $"{_agent} lives,{_above} and may have started it" if input.lineage.agents > 0

_starter contains $"{possible.name} ({possible.pid}) may be an agent, does not show it, and may have started it" if {
	possible := input.lineage.possible_agent
	possible.pid > 0
}

default _above := ""

_above := " is above it," if input.lineage.agent_ancestor == true

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
