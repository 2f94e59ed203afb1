# METADATA
# title: Held
# description: Keeps what a person or a registry asked to keep.
# custom:
#   kinds: all
#   summary:
#     - {rank: 20, group: held, evidence: [owner], next: "winnow release ID"}
#     - {rank: 21, group: retained by their registry}
package policies.protect.held

import data.policies.lib.reasons

# METADATA
# title: A hold is on it
# description: A hold is on the candidate, and it has not lapsed.
objections contains {"message": $"held by {_owner}: {_reason}", "evidence": hold} if {
	input.hold
	hold := {k: v | some k, v in input.hold}
}

# METADATA
# title: A registry retains it
# description: A registry entry that concerns the candidate is marked as retained, with any status.
objections contains {
	"message": "a registry entry that concerns it is marked as retained",
	"evidence": {"entries": [entry.id | some entry in input.entries; entry.retained == true]},
} if {
	some entry in input.entries
	entry.retained == true
}

_owner := reasons.or_default({owner | owner := input.hold.owner}, "an owner who gave no name")
_reason := reasons.or_default({reason | reason := input.hold.reason}, "no reason given")
