# METADATA
# title: The verdict
# description: >-
#   A candidate is reaped when some rule under reap found a reason and no rule under protect objected. Every package below
#   reap/<kind> and protect contributes, so adding a rule is adding a folder. Whatever is missing from the input, there is a
#   verdict, and without a finding it is spare.
package policies.main

import data.policies.lib.kinds

# METADATA
# title: Decision
# description: The verdict with everything that speaks for and against it, and whether any rule claims the candidate.
decision := {
	"verdict": _verdict,
	"findings": sort(_findings),
	"objections": sort(_objections),
	"in_scope": _in_scope,
}

default _verdict := "spare"

_verdict := "reap" if {
	count(_findings) > 0
	count(_objections) == 0
}

default _in_scope := false

_in_scope if data.policies.reap[kinds.plural][_].in_scope

_findings contains finding if some finding in data.policies.reap[kinds.plural][_].findings

_objections contains objection if some objection in data.policies.protect[_].objections
