# METADATA
# title: Young
# description: >-
#   Keeps what is young: a folder since its last own change, a session and a process since their start. What has just begun looks
#   like what is over.
package policies.protect.young

# METADATA
# title: It is younger than its grace
# description: Its age is less than the configured grace of its kind, or is not known.
objections contains {
	"rule": "protect.young",
	"message": "it is younger than the grace of its kind, or its age is not known",
	"evidence": {k: v | some k, v in {"age": input.age, "grace": _grace}},
} if {
	_aging
	not _grown
}

_aging if input.kind == "dir"

_aging if input.kind == "session"

_aging if input.kind == "process"

_grown if input.age >= _grace

_grace := input.config.grace.dir if input.kind == "dir"

_grace := input.config.grace.session if input.kind == "session"

_grace := input.config.grace.process if input.kind == "process"
