# METADATA
# title: A second look
# description: Keeps what a person may be looking at, and processes, until a second look has found the same.
# custom:
#   kinds: session, tab, terminal, process
#   summary: {rank: 230, group: waiting for a second look, passes: true}
#   parameters: [rules.confirm_after, rules.confirm_process_after, rules.confirm_busy_after, rules.dormant_after,
#     rules.landed_after, rules.busy.cpu, rules.busy.written]
package policies.protect.debounce

import data.policies.lib.levels
import data.policies.lib.processes
import data.policies.lib.provenance
import data.policies.lib.reasons
import data.policies.lib.shells

objections contains reasons.keep(_reasons, "when it was first found is not known", _facts) if {
	input.kind != "dir"
	count(levels.counting) > 0
	not _confirmed
}

# The operator wants no second look at processes.
_confirmed if {
	input.kind == "process"
	_asked == 0
}

_confirmed if {
	_same
	some left in _remaining
	left <= 0
}

# The same reason on the same thing. A rule that does not count shortens no wait.
_same if {
	input.sighting.identity != ""
	input.sighting.identity == input.identity
	input.sighting.rule in levels.counting
}

_asked := input.config[_wait]

default _wait := "confirm_process_after"

_wait := "confirm_after" if input.kind != "process"
_wait := "dormant_after" if _patient
_wait := "landed_after" if provenance.unserved
_wait := "landed_after" if provenance.renewed
_busy_after := input.config.confirm_busy_after if not _patient

# That it does nothing is all that lets it go, so that is watched for longer.
_patient if {
	provenance.spent
	not _otherwise
}

# Another rule found it, and no rule that keeps it is quiet for that alone.
_otherwise if {
	processes.harmless
	provenance.starterless
	count(levels.counting - {"reap.processes.dormant"}) > 0
}

# In how many seconds a look may let it go at the earliest, by each of the ways in which it may.
_remaining contains max([_asked - input.sighting.first, _asked - _rested]) if input.kind != "process"
_remaining contains max([_asked - input.sighting.first, _asked - _idle]) if input.kind == "process"
_remaining contains max([_asked, _busy_after]) - input.sighting.first if input.kind == "process"
_remaining contains _asked - input.sighting.first if "reap.processes.runaway" in levels.counting

# Where there is no shell, nothing else is waited for.
_rested := shells.rested if count(shells.present) > 0
_rested := _asked if count(shells.present) == 0

default _idle := 0

_idle := input.sighting.idle if not _patient

# What waits for nothing uses nothing: one second of a processor or one byte in all that time.
_idle := input.sighting.idle if input.sighting.cpu + input.sighting.written <= 1 / max([input.sighting.idle, 1])
_reasons contains $"it needs a second look, {reasons.span(_asked)} after the first" if not _same

_reasons contains $"seen for {reasons.span(input.sighting.first)} of {reasons.span(_asked)}" if {
	_same
	input.sighting.first < _asked
	not _restless
}

_reasons contains $"its shell has rested for {reasons.span(_rested)} of {reasons.span(_asked)}" if {
	input.kind != "process"
	_same
	_rested < _asked
}

_reasons contains "when a shell of it last ran is not known" if {
	input.kind != "process"
	_same
	not _rested
}

_reasons contains "it has worked since the look before" if {
	_same
	input.sighting.idle == 0
}

_reasons contains $"idle for {reasons.span(_idle)} of {reasons.span(_asked)}" if _restless

_reasons contains "whether it has worked since the look before is not known" if {
	input.kind == "process"
	_same
	not input.sighting.idle
}

_facts contains {name: input.sighting[name] | some name in {"first", "idle", "cpu", "written"}}
_facts contains {"asked": _asked}
_facts contains {"left": max([0, min(_remaining)])} if _same
_facts contains {"left": _asked} if not _same

_restless if {
	_same
	min([_idle, _asked - _idle]) > 0
}
