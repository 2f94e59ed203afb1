# METADATA
# title: Untried
# description: |-
#   Keeps the tabs of a herdr that closing was not tried with.
#
#   Every tab of a server whose protocol is not in `herdr_protocols`, or is not known. Such a server is read all the same, and the
#   report shows what it has.
# custom:
#   kinds: tab
#   parameters:
#     rules.herdr_protocols: "the protocols of herdr 0.7.0 to 0.8.0"
#   why: |-
#     herdr serves any request of anybody, whatever it means by it: what closing the last tab does changed from one release to the
#     next. Its protocol's number is the only word that it gives of that beforehand.
#   example: |-
#     ```
#     tab:herdr/default/w1:t3   spare   protect.untried: closing was not tried with a server of protocol 20; to allow it, add that number to rules.herdr_protocols
#     ```
#
#     In `config.yaml`, once you have seen what it does: `rules: {herdr_protocols: [14, 16, 17, 19, 20]}`.
package policies.protect.untried

import data.policies.lib.tabs
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
	not tabs.editor
	not _tried
}

_tried if input.source.server.protocol in input.config.herdr_protocols

_reasons contains $"closing was not tried with a server of protocol {input.source.server.protocol}; to allow it, add that number to rules.herdr_protocols" if {
	input.source.server.protocol >= 0
}

_facts contains {"protocol": input.source.server.protocol}

_facts contains {"version": input.source.server.version}

_facts contains {"tried": input.config.herdr_protocols}
