# METADATA
# title: The verdict
# description: >-
#   A candidate is reaped when some rule under reap found a reason and no rule under protect objected. Every package
#   below reap/<kind> and protect contributes, so adding a rule is adding a folder. There is always a verdict; without a
#   finding it is spare. A rule whose level is off says nothing, and a finding of a rule whose level is ask or observe
#   reaps nothing: where it is all that was found, and no rule objects, the decision has that level.
package policies.main

import data.policies.lib.levels
import data.policies.lib.reasons

# The verdict with everything that speaks for and against it, and whether any rule claims the candidate.
decision := reasons.evidence({_level, {
	"verdict": _verdict, "findings": sort(_findings), "objections": sort(_objections), "in_scope": _in_scope,
}})

default _verdict := "spare"

_verdict := "reap" if {
	levels.level == "on"
	count(_objections) == 0
}

default _level := {}

_level := {"level": levels.level} if {
	levels.level in {"ask", "observe"}
	count(_objections) == 0
}

default _in_scope := false

_in_scope if {
	some folder in levels.folders
	data.policies.reap[folder][_].in_scope
}

_findings contains reasons.evidence({finding, {"rule": rule}, _marked(rule)}) if {
	some folder in levels.folders
	some name
	some finding in data.policies.reap[folder][name].findings
	rule := $"reap.{folder}.{name}"
	not rule in levels.off
}

_objections contains reasons.evidence({objection, {"rule": rule}}) if {
	some name
	some objection in data.policies.protect[name].objections
	rule := $"protect.{name}"
	not rule in levels.off
}

_marked(rule) := {"level": "ask"} if {
	rule in levels.ask
} else := {"level": "observe"} if {
	rule in levels.observe
} else := {}
