# METADATA
# title: Protected
# description: >-
#   Keeps what nobody may reap: what the operator has listed by path, name, label or id, a locked worktree, a repository's main
#   checkout, the terminal of an architect, processes by name, daemons that people use too, kernel threads, and whatever belongs to another
#   user.
package policies.protect.protected

import data.policies.lib.processes

# METADATA
# title: The operator protects it
# description: A configured glob matches the candidate, the folder that it lies in, or something in it, or cannot be compared with it.
objections contains {
	"rule": "protect.protected",
	"message": "the configuration protects it",
	"evidence": {"protected": [pattern | some pattern in input.config.protected]},
} if not _unlisted

# METADATA
# title: A folder that is locked, no worktree or another user's
# description: The folder is a locked worktree, a repository of its own or another user's, or whether it is could not be read.
objections contains {
	"rule": "protect.protected",
	"message": _folder,
	"evidence": {},
} if {
	input.kind == "dir"
	not _worktree
	not _no_checkout
}

# METADATA
# title: A process that is never reaped
# description: >-
#   The process is a multiplexer's server, a kernel thread, one that the configuration names or another user's, or whether it is
#   could not be read.
objections contains {
	"rule": "protect.protected",
	"message": _process,
	"evidence": {k: v | some k, v in {"name": input.process.name}},
} if {
	input.kind == "process"
	not _ordinary
}

# METADATA
# title: A daemon that people use too
# description: >-
#   The process is one that the configuration names as something that people use too, such as an editor or a database: who started it says
#   nothing of who uses it.
objections contains {
	"rule": "protect.protected",
	"message": _personal,
	"evidence": {k: v | some k, v in {"name": input.process.name}},
} if {
	input.kind == "process"
	not _nobodys
}

# METADATA
# title: The terminal of an architect
# description: An architect's terminal holds a conversation that nothing brings back. It is one, or whose it is could not be read.
objections contains {
	"rule": "protect.protected",
	"message": _terminal,
	"evidence": {k: v | some k, v in {"role": input.terminal.role}},
} if {
	input.kind == "terminal"
	not _no_architect
}

_unlisted if count(input.config.protected) == 0

_unlisted if {
	input.kind == "dir"
	input.dir.path != ""
	every pattern in input.config.protected {
		pattern != input.id
		pattern != input.dir.path
		pattern != input.dir.name
		glob.match(pattern, ["/"], input.id) == false
		glob.match(pattern, ["/"], input.dir.name) == false
		glob.match(pattern, ["/"], input.dir.path) == false
		glob.match(concat("", [pattern, "/**"]), ["/"], input.dir.path) == false
		startswith(input.dir.path, concat("", [pattern, "/"])) == false
		startswith(pattern, concat("", [input.dir.path, "/"])) == false
	}
}

_unlisted if {
	input.kind == "session"
	input.session.name != ""
	every pattern in input.config.protected {
		pattern != input.id
		pattern != input.session.name
		glob.match(pattern, ["/"], input.id) == false
		glob.match(pattern, ["/"], input.session.name) == false
	}
}

_unlisted if {
	input.kind == "process"
	input.process.name != ""
	every pattern in input.config.protected {
		pattern != input.id
		pattern != input.process.name
		glob.match(pattern, ["/"], input.id) == false
		glob.match(pattern, ["/"], input.process.name) == false
	}
}

_unlisted if {
	input.kind == "tab"
	input.tab.label != ""
	every pattern in input.config.protected {
		pattern != input.id
		pattern != input.tab.label
		glob.match(pattern, ["/"], input.id) == false
		glob.match(pattern, ["/"], input.tab.label) == false
	}
}

_unlisted if {
	input.kind == "terminal"
	input.terminal.id != ""
	every pattern in input.config.protected {
		pattern != input.id
		glob.match(pattern, ["/"], input.id) == false
		every name in _called {
			pattern != name
			glob.match(pattern, ["/"], name) == false
		}
	}
}

# What people call a terminal. A shellper that nobody knows has no label and nobody's role, and goes by its id alone.
_called contains input.terminal.label

_called contains input.terminal.role

_called contains input.terminal.owner.id

_no_architect if {
	input.terminal.role_kind != ""
	input.terminal.role_kind != "architect"
}

default _terminal := "whose terminal it is is not known"

_terminal := "it is an architect's" if input.terminal.role_kind == "architect"

_worktree if {
	input.dir.git.worktree == true
	input.dir.git.locked == false
	input.dir.uid == input.host.uid
}

_no_checkout if {
	input.dir.checkout == false
	not input.dir.git
	input.dir.uid == input.host.uid
}

default _folder := "whether it is a worktree, locked, or another user's is not known"

_folder := "it is a locked worktree" if {
	input.dir.git.locked == true
} else := "it is a repository of its own" if {
	input.dir.git.worktree == false
} else := "it belongs to another user" if {
	input.dir.uid != input.host.uid
}

_ordinary if {
	input.process.uid == input.host.uid
	not input.process.kernel
	processes.multiplexer == false
	glob.match(_never, null, input.process.name) == false
}

_nobodys if input.lineage.personal == ""

default _personal := "whether people use it too is not known"

_personal := $"people use such a thing too, whoever started it ({input.lineage.personal})" if input.lineage.personal != ""

# One pattern out of all costs a tenth of asking for each. What cannot be such a pattern fails, and keeps.
_never := concat("", ["{", concat(",", input.config.never_processes), "}"])

default _process := "its name or whose it is is not known"

_process := "it belongs to another user" if {
	input.process.uid != input.host.uid
} else := "it is a kernel thread" if {
	input.process.kernel == true
} else := "it is a multiplexer's server" if {
	processes.multiplexer == true
} else := "processes of its name are never reaped" if {
	glob.match(_never, null, input.process.name)
}
