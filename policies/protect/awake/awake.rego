# METADATA
# title: Not awake for long
# description: >-
#   Keeps everything until the machine has been awake for a while without a boot, a resume or a jump of the clock: ages that
#   were counted over one of these say nothing.
package policies.protect.awake

import data.policies.lib.words

# METADATA
# title: The machine has not been steady for long enough
# description: A boot, a resume or a jump of the clock was noticed too short a while ago, or it is not known when.
objections contains {
	"rule": "protect.awake",
	"message": words.said(_reasons, "when the machine booted, resumed or had its clock set is not known"),
	"evidence": words.known(_facts),
} if not _steady

_steady if input.host.steady >= input.config.steady_for

_reasons contains $"the machine booted, resumed or had its clock set {words.span(input.host.steady)} ago; at least {words.span(input.config.steady_for)} is asked" if {
	input.host.steady < input.config.steady_for
}

_facts contains {"steady": input.host.steady}

_facts contains {"steady_for": input.config.steady_for}
