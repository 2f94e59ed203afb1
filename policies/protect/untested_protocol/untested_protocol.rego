# METADATA
# title: Untested protocol
# description: Keeps the tabs of a herdr that closing was not tried with.
# custom:
#   kinds: tab
#   summary: {rank: 84, group: of an untested herdr protocol, message: closing was not tried with its server}
#   parameters: [rules.herdr_protocols]
package policies.protect.untested_protocol

import data.policies.lib.reasons
import data.policies.lib.tabs

objections contains reasons.keep(_reasons, _protocol_unknown, _facts) if {
	input.kind == "tab"
	not tabs.editor
	not _tried
}

_protocol_unknown := "the protocol of its server is not known, so closing was not tried with it"
_tried if input.source.server.protocol in input.config.herdr_protocols

# A person asked for this very tab, as for what a rule at the level ask finds.
_tried if {
	input.asked
	_complete
}

_complete if {
	count(input.config.herdr_protocols) >= 0
	input.source.server.protocol >= 0
	count(input.source.server.lacks) == 0
}

_reasons contains $"closing was not tried with a server of protocol {input.source.server.protocol}; {_next}" if {
	input.source.server.protocol >= 0
}

_next := $"it has all that winnow uses: {_by_hand}; to have it done by itself, {_allow}" if {
	_complete
} else := $"it lacks {concat(", ", input.source.server.lacks)}, which winnow uses; look for a newer winnow" if {
	count(input.source.server.lacks) > 0
} else := $"to allow it, {_allow}"

_by_hand := "winnow cleanup ID --safe closes one tab"
_allow := "add that number to rules.herdr_protocols"
_facts contains {name: input.source.server[name] | some name in {"protocol", "version", "lacks"}}
_facts contains {"tried": input.config.herdr_protocols}
