# METADATA
# title: Protected
# description: Keeps what must never be reaped.
# custom:
#   kinds: all
#   summary:
#     - {rank: 60, group: locked, word: alive}
#     - {rank: 60, group: locked, word: lock, next: "git -C REPO worktree unlock DIR"}
#     - {rank: 61, group: protected}
#   parameters: [rules.protected, rules.never_processes, rules.personal_daemons, rules.multiplexers, rules.lock_reasons]
package policies.protect.protected

import data.policies.lib.dirs
import data.policies.lib.names
import data.policies.lib.processes
import data.policies.lib.reasons

# METADATA
# title: The operator protects it
# description: A configured glob matches it, the folder that it lies in, or something in it, or cannot be compared.
objections contains {
	"message": "rules.protected matches it, or cannot be compared with it",
	"evidence": {"protected": globs | globs := input.config.protected},
} if not _not_matched

# METADATA
# title: A folder that is locked, no worktree or another user's
# description: It is a locked worktree, a repository of its own or another user's, or whether it is could not be read.
objections contains reasons.keep(_reasons, "whether it is a worktree, locked, or another user's is not known", {}) if {
	input.kind == "dir"
	not _worktree
	not _no_checkout
}

# METADATA
# title: A process that is never reaped
# description: It is a multiplexer's server, a kernel thread, named by the configuration or another user's, or may be.
objections contains reasons.keep(_reasons, "its name, or the user that it belongs to, is not known", _facts) if {
	input.kind == "process"
	not _ordinary
}

# METADATA
# title: A daemon that people use too
# description: People use it too (configuration). A language server in a deleted folder that nothing reaches may go.
objections contains reasons.keep(_personal, "whether people use it too is not known", _facts) if {
	input.kind == "process"
	not _impersonal
}

# METADATA
# title: The terminal of an architect
# description: It holds a conversation that nothing brings back. It is one, or its owner could not be read.
objections contains reasons.keep(_architect, "whether it is an architect's terminal is not known", _facts) if {
	input.kind == "terminal"
	not _no_architect
}

_not_matched if count(input.config.protected) == 0

_not_matched if {
	_identified
	names.unprotected(input.id)
	every name in _called { names.unprotected(name) }
	_path_not_matched
}

# What people call a thing of each kind is known. A shellper that no record knows has no label and goes by its id alone.
_identified if input.dir.name != ""
_identified if input.session.name != ""
_identified if input.process.name != ""
_identified if input.tab.label != ""
_identified if input.terminal.id != ""

# What lies in a worktree is meant by the worktree's name and id too.
_called contains input.dir.name
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
		glob.match($"{pattern}/**", ["/"], input.dir.path) == false
		startswith(input.dir.path, $"{pattern}/") == false
		startswith(pattern, concat("", [input.dir.path, "/"])) == false
		_disjoint(pattern)
	}
}

# A pattern of several folders that does not begin at the root means such folders anywhere, as in a .gitignore.
_disjoint(pattern) if not contains(pattern, "/")
_disjoint(pattern) if startswith(pattern, "/")

_disjoint(pattern) if {
	below := trim_suffix(pattern, "/")
	glob.match($"**/{below}", ["/"], input.dir.path) == false
	glob.match($"**/{below}/**", ["/"], input.dir.path) == false
}

_facts contains {"name": input.process.name}
_facts contains {"role": input.terminal.role}

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
_lock := reasons.or_default({$": {dirs.lock}{_unlock}" | dirs.lock != ""}, "")

default _unlock := ""

_unlock := $": git -C {repository} worktree unlock {reasons.shell(input.dir.path)} removes the lock" if {
	not _tool_lock
	repository := reasons.shell(input.dir.git.common_dir)
}

_tool_lock if input.dir.git.lock.tool != ""

_impersonal if input.lineage.personal == ""

_impersonal if {
	input.lineage.personal == "language server"
	input.process.cwd_deleted == true
	processes.no_listener
	processes.no_peers
}

_personal contains $"people use such a program too, also when an agent started it ({what})" if {
	what := input.lineage.personal
	what != ""
}
