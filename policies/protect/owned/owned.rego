# METADATA
# title: Owned
# description: >-
#   Keeps what an orchestrator has not let go: a spawn that is open or has only just completed, and a registry entry that is not
#   positively over. That nobody has recorded the candidate proves nothing and is no objection either.
package policies.protect.owned

import data.policies.lib.registry

# METADATA
# title: A spawn is open
# description: A spawn of the candidate is not completed, or was not long ago, and its owner is not known to be over.
objections contains {
	"rule": "protect.owned",
	"message": "a spawn ledger says that it is in use, or was until not long ago",
	"evidence": {k: v | some k, v in {"source": spawn.source, "spawn": place}},
} if {
	some place, spawn in input.spawns
	not place in _let_go
}

# METADATA
# title: A registry entry is live
# description: A registry entry of the candidate is not positively over.
objections contains {
	"rule": "protect.owned",
	"message": "a registry says that it has an owner who is not over",
	"evidence": {k: v | some k, v in {"source": entry.source, "entry": entry.id}},
} if {
	some place, entry in input.entries
	not place in registry.over
}

_let_go contains place if {
	some place, spawn in input.spawns
	spawn.completed >= input.config.grace.spawn
}

_let_go contains place if {
	some place, spawn in input.spawns
	spawn.id != ""
	spawn.id in registry.owners_over
}
