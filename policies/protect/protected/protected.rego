# METADATA
# title: Protected
# description: Keeps what must never be reaped.
# custom:
#   kinds: all
#   summary:
#     - {rank: 60, group: locked, word: lock, next: "git -C REPO worktree unlock DIR"}
#     - {rank: 61, group: protected}
#   parameters:
#     rules.protected: "globs over paths, names, labels and ids; `*` stays within one folder, `**` does not"
#     rules.never_processes: "names of processes; a `*` at the end stands for any rest"
#     rules.personal_daemons: "programs that people use too, each with a word for what it is"
#     rules.multiplexers: "names of multiplexers' servers"
#     rules.lock_reasons: "the forms in which tools write why a worktree is locked, each with the process that it names"
package policies.protect.protected

import data.policies.lib.dirs
import data.policies.lib.names
import data.policies.lib.processes
import data.policies.lib.reasons

# METADATA
# title: The operator protects it
# description: A configured glob matches the candidate, the folder that it lies in, or something in it, or cannot be compared with it.
objections contains {
	"rule": "protect.protected",
	"message": "rules.protected matches it, or cannot be compared with it",
	"evidence": reasons.evidence(_facts),
} if not _not_matched

# METADATA
# title: A folder that is locked, no worktree or another user's
# description: The folder is a locked worktree, a repository of its own or another user's, or whether it is could not be read.
objections contains {
	"rule": "protect.protected",
	"message": reasons.or_default(_reasons, "whether it is a worktree, locked, or another user's is not known"),
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
	"message": reasons.or_default(_reasons, "its name, or the user that it belongs to, is not known"),
	"evidence": reasons.evidence(_named),
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
	"message": reasons.or_default(_personal, "whether people use it too is not known"),
	"evidence": reasons.evidence(_named),
} if {
	input.kind == "process"
	not input.lineage.personal == ""
}

# METADATA
# title: The terminal of an architect
# description: An architect's terminal holds a conversation that nothing brings back. It is one, or its owner could not be read.
objections contains {
	"rule": "protect.protected",
	"message": reasons.or_default(_architect, "whether it is an architect's terminal is not known"),
	"evidence": reasons.evidence(_role),
} if {
	input.kind == "terminal"
	not _no_architect
}

_not_matched if count(input.config.protected) == 0

_not_matched if {
	_identified
	names.unprotected(input.id)
	every name in _called {
		names.unprotected(name)
	}
	_path_not_matched
}

# What people call a thing of each kind is known. A shellper that no record knows has neither label nor role, and goes by its id alone.
_identified if input.dir.name != ""

_identified if input.session.name != ""

_identified if input.process.name != ""

_identified if input.tab.label != ""

_identified if input.terminal.id != ""

_called contains input.dir.name

# What lies in a worktree is meant by the worktree's name and id too.
_called contains input.dir.content.name

_called contains input.dir.content.id

_called contains input.session.name

_called contains input.process.name

_called contains input.tab.label

_called contains input.tab.editor.creation_name

_called contains input.tab.editor.codev.id

_called contains input.terminal.label

_called contains input.terminal.role

_called contains input.terminal.owner.id

# A folder is meant by its path too, and by those of what it lies in and of what lies in it.
_path_not_matched if input.kind != "dir"

_path_not_matched if {
	input.dir.path != ""
	names.unprotected(input.dir.path)
	every pattern in input.config.protected {
		glob.match(concat("", [pattern, "/**"]), ["/"], input.dir.path) == false
		startswith(input.dir.path, concat("", [pattern, "/"])) == false
		startswith(pattern, concat("", [input.dir.path, "/"])) == false
		_disjoint(pattern)
	}
}

# A pattern of several folders that does not begin at the root means such folders anywhere, as in a .gitignore.
_disjoint(pattern) if not contains(pattern, "/")

_disjoint(pattern) if startswith(pattern, "/")

_disjoint(pattern) if {
	below := trim_suffix(pattern, "/")
	glob.match(concat("", ["**/", below]), ["/"], input.dir.path) == false
	glob.match(concat("", ["**/", below, "/**"]), ["/"], input.dir.path) == false
}

_no_architect if {
	input.terminal.role_kind != ""
	input.terminal.role_kind != "architect"
}

_architect contains "it is an architect's terminal" if input.terminal.role_kind == "architect"

_worktree if {
	input.dir.git.worktree == true
	dirs.unlocked
	input.dir.uid == input.host.uid
}

_no_checkout if {
	input.dir.checkout == false
	not input.dir.git
	input.dir.uid == input.host.uid
}

_ordinary if {
	input.process.uid == input.host.uid
	not input.process.kernel
	processes.multiplexer == false
	names.endable(input.process.name)
}

_reasons contains $"it is a locked worktree{_lock}" if {
	input.dir.git.locked == true
	not dirs.unlocked
}

_reasons contains "it is a repository of its own" if input.dir.git.worktree == false

_reasons contains "it belongs to another user" if input.dir.uid != input.host.uid

_reasons contains "it belongs to another user" if input.process.uid != input.host.uid

_reasons contains "it is a kernel thread" if input.process.kernel == true

_reasons contains "it is a multiplexer's server" if processes.multiplexer == true

_reasons contains "rules.never_processes has its name" if names.never(input.process.name)

default _lock := ""

_lock := $": {dirs.lock}: git -C {reasons.shell(input.dir.git.common_dir)} worktree unlock {reasons.shell(input.dir.path)} removes the lock" if {
	dirs.lock != ""
	input.dir.path != ""
	input.dir.git.common_dir != ""
} else := $": {dirs.lock}" if {
	dirs.lock != ""
}

_personal contains $"people use such a program too, also when an agent started it ({input.lineage.personal})" if input.lineage.personal != ""

_facts contains {"protected": input.config.protected}

_named contains {"name": input.process.name}

_role contains {"role": input.terminal.role}
