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
	"message": "the folder was changed not long ago, or when it was is not known",
	"evidence": {k: v | some k, v in {"age": input.age, "grace": input.config.grace.dir}},
} if {
	input.kind == "dir"
	not _dir_grown
}

objections contains {
	"rule": "protect.young",
	"message": "the session was made not long ago, or when it was is not known",
	"evidence": {k: v | some k, v in {"age": input.age, "grace": input.config.grace.session}},
} if {
	input.kind == "session"
	not _session_grown
}

objections contains {
	"rule": "protect.young",
	"message": "the process was started not long ago, or when it was is not known",
	"evidence": {k: v | some k, v in {"age": input.age, "grace": input.config.grace.process}},
} if {
	input.kind == "process"
	not _process_grown
}

_dir_grown if input.age >= input.config.grace.dir

_session_grown if input.age >= input.config.grace.session

_process_grown if input.age >= input.config.grace.process
