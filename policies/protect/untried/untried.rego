# METADATA
# title: Untried
# description: >-
#   Keeps the tabs of a server that speaks a protocol which closing a tab was not tried with: what such a server does when it is
#   told to close one is not known.
package policies.protect.untried

import data.policies.lib.words

# METADATA
# title: Closing was not tried with its server
# description: The protocol of the tab's server is not in the operator's list, or is not known.
objections contains {
	"rule": "protect.untried",
	"message": words.said(_reasons, "the protocol of its server is not known, so closing was not tried with it"),
	"evidence": words.known(_facts),
} if {
	input.kind == "tab"
	not _tried
}

_tried if input.source.server.protocol in input.config.herdr_protocols

_reasons contains $"closing was not tried with a server of protocol {input.source.server.protocol}; to allow it, add that number to rules.herdr_protocols" if {
	input.source.server.protocol >= 0
}

_facts contains {"protocol": input.source.server.protocol}

_facts contains {"version": input.source.server.version}

_facts contains {"tried": input.config.herdr_protocols}
