# METADATA
# title: The clock is not steady
# description: Keeps everything for a while after a boot, a resume or a jump of the clock.
# custom:
#   kinds: all
#   summary: {rank: 220, group: waiting for a steady clock, passes: true}
#   parameters: [rules.steady_for, rules.clock_jump]
package policies.protect.clock_unsteady

import data.policies.lib.reasons

objections contains reasons.keep(_reasons, $"when {_jump} is not known", _facts) if not _steady
_steady if input.host.steady >= input.config.steady_for
_jump := "the machine booted, resumed or had its clock set"

_reasons contains $"{_jump} {reasons.too_short(input.host.steady, input.config.steady_for)}" if {
	input.host.steady < input.config.steady_for
}

_facts contains {"steady": input.host.steady}
_facts contains {"steady_for": input.config.steady_for}
