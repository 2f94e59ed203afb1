# METADATA
# title: Protected
# description: Keeps what must never be reaped.
# custom:
#   kinds: all
#   summary:
#     - {rank: 60, group: locked, word: lock, next: "git -C REPO worktree unlock DIR"}
#     - {rank: 61, group: protected}
#   parameters: [rules.protected, rules.never_processes, rules.personal_daemons, rules.multiplexers, rules.lock_reasons]
package policies.protect.protected

import data.policies.lib.names

# METADATA
# title: The operator protects it
# description: A configured glob matches it, the folder that it lies in, or something in it, or cannot be compared.
objections contains {
	"message": "rules.protected matches it, or cannot be compared with it",
	"evidence": {"protected": globs | globs := input.config.protected},
} if not _not_matched

_not_matched if count(input.config.protected) == 0

_not_matched if {
	_identified
	names.unprotected(input.id)
	every name in _called {
		names.unprotected(name)
	}
	_path_not_matched
}

# What people call a thing of each kind is known. A shellper that no record knows has neither label nor role, and goes
# by its id alone.
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
