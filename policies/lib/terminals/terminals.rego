# METADATA
# title: Terminals
# description: What is positively known of a Codev terminal - its owner, whether that one is gone, and what lives in it.
package policies.lib.terminals

import data.policies.lib.shells

# True when the terminal is a builder's or its development server's. An architect's and a person's shell are neither.
of_builder if {
	input.kind == "terminal"
	input.terminal.role_kind in {"builder", "dev"}
}

# True when it is known whose terminal it is, that builder has no row any more, and what it worked in is gone.
ownerless if {
	of_builder
	input.terminal.owner.id != ""
	input.terminal.owner.how in {"row", "label", "memory"}
	input.terminal.owner.recorded == false
	worktree_left != ""
}

# What became of the owner's worktree; undefined while it is there and registered, and where that is not known.
worktree_left := "gone" if {
	input.terminal.owner.gone == true
} else := "no longer registered" if {
	input.terminal.owner.unregistered == true
}

# True when what lives below the terminal's process is known, and nothing does.
childless if {
	input.terminal.pid > 0
	count(input.terminal.below) == 0
}

# True when its Tower says that the terminal has exited, and it has no process any more: all was read.
ended if {
	input.terminal.status == "exited"
	not input.terminal.pid
	not input.terminal.start_ticks
	not input.terminal.started_at
	not input.terminal.below
	input.terminal.error == ""
}

# True when its Tower says that the terminal has exited, and nothing lives in it but what replays its end.
exited if {
	input.terminal.status == "exited"
	childless
}

exited if ended

# True when the terminal has printed nothing for long enough.
quiet if input.idle >= input.config.terminal_idle

# True when the terminal is ownerless and nothing works in it: it is a development server's without an agent, or a
# builder's with shells that wait for a person, or in which nothing was printed for long: any program may be an agent.
no_work if {
	ownerless
	shells.all_rest
	_unattended
}

_unattended if {
	input.terminal.role_kind == "dev"
	count(input.config.agents) >= 0
	input.lineage.agent_below == false
	count(_programs) == count(input.terminal.below)
}

_unattended if count(_shells) == count(input.terminal.below)

_unattended if {
	count(input.terminal.below) >= 0
	quiet
}

# What lives in it by a name that is no agent's, and what is a shell that waits for a person or keeps one's prompt.
_programs := [member.pid |
	some member in input.terminal.below
	member.name != ""
	not _agent(member.name)
]

_shells contains member.pid if {
	some member in input.terminal.below
	member.name in input.config.shells
	member.interactive == true
}

_shells contains member.pid if {
	some member in input.terminal.below
	member.name in input.config.prompt_daemons
}

_agent(name) if trim_suffix(name, ".exe") in input.config.agents

# The kernel keeps 15 bytes of a name.
_agent(name) if {
	regex.match(`^.{15}$`, name)
	some agent in input.config.agents
	startswith($"{agent}.exe", name)
}

# True when it was read whether its Tower lists the terminal, and what lives below its process.
read if {
	is_boolean(input.terminal.listed)
	input.terminal.error == ""
	_traced
}

_traced if {
	input.terminal.pid > 0
	input.terminal.start_ticks >= 0
	count(input.terminal.below) >= 0
	_ours
}

_traced if ended
_ours if input.terminal.listed == true
_ours if input.terminal.scoped == true
