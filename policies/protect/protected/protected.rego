# METADATA
# title: Protected
# description: >-
#   Keeps what nobody may reap: what the operator has listed by path, name, label or id, a locked worktree, a repository's main
#   checkout, processes by name, kernel threads, and whatever belongs to another user.
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
# title: A worktree that is locked, or no worktree
# description: The folder is a locked worktree or a repository of its own, or whether it is could not be read.
objections contains {
	"rule": "protect.protected",
	"message": "it is a locked worktree or a repository of its own, or whether it is one is not known",
	"evidence": {k: v | some k, v in {"worktree": input.dir.git.worktree, "locked": input.dir.git.locked}},
} if {
	input.kind == "dir"
	not _unlocked
}

# METADATA
# title: A process that is never reaped
# description: The process is a multiplexer's server, a kernel thread or one that the configuration names.
objections contains {
	"rule": "protect.protected",
	"message": "processes of its name are never reaped, or its name is not known",
	"evidence": {k: v | some k, v in {"name": input.process.name}},
} if {
	input.kind == "process"
	not _ordinary
}

# METADATA
# title: It belongs to another user
# description: The owner of the folder or process is not the user that Winnow runs as, or is not known.
objections contains {
	"rule": "protect.protected",
	"message": "it belongs to another user, or whose it is could not be read",
	"evidence": {},
} if not _own

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
	input.terminal.label != ""
	every pattern in input.config.protected {
		pattern != input.id
		pattern != input.terminal.label
		glob.match(pattern, ["/"], input.id) == false
		glob.match(pattern, ["/"], input.terminal.label) == false
	}
}

_unlocked if {
	input.dir.git.worktree == true
	input.dir.git.locked == false
}

_unlocked if {
	input.dir.checkout == false
	count([git | git := input.dir.git]) == 0
}

_ordinary if {
	processes.multiplexer == false
	_userland
	every pattern in input.config.never_processes {
		glob.match(pattern, null, input.process.name) == false
	}
}

_userland if not input.process.kernel

_own if input.kind == "session"

_own if input.kind == "tab"

_own if input.kind == "terminal"

_own if {
	input.kind == "dir"
	input.dir.uid == input.host.uid
}

_own if {
	input.kind == "process"
	input.process.uid == input.host.uid
}
