# METADATA
# title: Not awake for long
# description: >-
#   Keeps everything until the machine has been awake for a while without a boot, a resume or a jump of the clock: ages that
#   were counted over one of these say nothing.
package policies.protect.awake

# METADATA
# title: The machine has not been steady for long enough
# description: A boot, a resume or a jump of the clock was noticed too short a while ago, or it is not known when.
objections contains {
	"rule": "protect.awake",
	"message": "the machine booted, resumed or had its clock set too short a while ago, or it is not known when",
	"evidence": {k: v | some k, v in {"steady": input.host.steady, "steady_for": input.config.steady_for}},
} if not _steady

_steady if input.host.steady >= input.config.steady_for
