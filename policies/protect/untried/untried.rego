# METADATA
# title: Untried
# description: >-
#   Keeps the tabs of a server that speaks a protocol which closing a tab was not tried with: what such a server does when it is
#   told to close one is not known.
package policies.protect.untried

# METADATA
# title: Closing was not tried with its server
# description: The protocol of the tab's server is not in the operator's list, or is not known.
objections contains {
	"rule": "protect.untried",
	"message": _message,
	"evidence": {
		"protocol": [protocol | protocol := input.source.server.protocol],
		"version": [version | version := input.source.server.version],
		"tried": [tried | some tried in input.config.herdr_protocols],
	},
} if {
	input.kind == "tab"
	not _tried
}

_tried if input.source.server.protocol in input.config.herdr_protocols

default _message := "what protocol its server speaks is not known, so closing was not tried with it"

_message := $"closing was not tried with a server of protocol {input.source.server.protocol}; to allow it, add that number to rules.herdr_protocols" if {
	input.source.server.protocol >= 0
}
