# METADATA
# title: Young
# description: >-
#   Keeps what is young: a folder since its last own change, a session and a process since their start, a terminal since the start of
#   its process. What has just begun looks like what is over.
package policies.protect.young

import data.policies.lib.terminals

# METADATA
# title: It is younger than its grace
# description: Its age is less than the configured grace of its kind, or is not known.
objections contains {
	"rule": "protect.young",
	"message": "the folder was changed not long ago, by the time that the machine was awake, or when it was is not known",
	"evidence": {k: v | some k, v in {"age": input.age, "grace": input.config.grace.dir}},
} if {
	input.kind == "dir"
	not _dir_grown
}

objections contains {
	"rule": "protect.young",
	"message": "the session was made not long ago, by the time that the machine was awake, or when it was is not known",
	"evidence": {k: v | some k, v in {"age": input.age, "grace": input.config.grace.session}},
} if {
	input.kind == "session"
	not _session_grown
}

objections contains {
	"rule": "protect.young",
	"message": "the process was started not long ago, by the time that the machine was awake, or when it was is not known",
	"evidence": {k: v | some k, v in {"age": input.age, "grace": input.config.grace.process}},
} if {
	input.kind == "process"
	not _process_grown
}

objections contains {
	"rule": "protect.young",
	"message": "the terminal was opened not long ago, by the time that the machine was awake, or when it was is not known",
	"evidence": {k: v | some k, v in {"age": input.age, "grace": input.config.grace.terminal}},
} if {
	input.kind == "terminal"
	not _terminal_grown
}

_dir_grown if input.age >= input.config.grace.dir

_session_grown if input.age >= input.config.grace.session

_process_grown if input.age >= input.config.grace.process

# Since when its Tower has it says nothing of a process that began at an unknown time.
_terminal_grown if {
	input.terminal.started_at != ""
	input.age >= input.config.grace.terminal
}

_terminal_grown if {
	terminals.ended
	input.age >= input.config.grace.terminal
}
