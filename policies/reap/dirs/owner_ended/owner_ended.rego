# METADATA
# title: Worktree of an owner that has ended
# description: A linked git worktree that holds nothing, and whose owner says that it may go.
# custom:
#   needs: [worktrees]
#   waits: [rules.grace.dir]
#   parameters: [rules.landed_after, rules.terminal_statuses]
package policies.reap.dirs.owner_ended

import data.policies.lib.dirs
import data.policies.lib.reasons
import data.policies.lib.registry

# The folder is a linked worktree.
in_scope if input.dir.git.worktree == true

# METADATA
# title: Its owner has ended
# description: >-
#   The entry whose own folder this is has ended after the folder was made, and so has every other one of that id, and
#   the folder is quiet. Where the user asks for it by name, it need not be quiet, and the entry need not say when it
#   ended.
findings contains {
	"message": $"the registry says that its owner has ended, and {_holds_nothing}{dirs.void_lock}",
	"evidence": reasons.evidence(((dirs.facts | dirs.locks) | {{"source": entry.source, "entry": entry.id}})),
} if {
	dirs.holds_nothing
	some place in registry.over
	entry := input.entries[place]
	entry.by == "path"
	entry.own == true
	entry.path == input.dir.path
	entry.id in registry.owners_over
	place in _of_this_folder
	_quiet
}

# METADATA
# title: Its user says that it may go
# description: The user who runs Winnow asks for this folder by its whole id and says that it is theirs, and it is.
findings contains {
	"message": $"its user says that it is theirs and may go, and {_holds_nothing}",
	"evidence": {"by": input.asked.by, "uid": input.asked.uid},
} if {
	dirs.holds_nothing
	_asked
	input.asked.mine == true
	input.asked.uid == input.dir.uid
}

_holds_nothing := "it holds nothing that is not in the repository"

_of_this_folder contains place if {
	some place, entry in input.entries
	entry.ended >= 0
	input.made >= entry.ended
}

_of_this_folder contains place if {
	_asked
	some place in registry.endless
}

_quiet if input.idle >= input.config.landed_after
_quiet if _asked

_asked if [input.asked.by, input.asked.uid] == ["user", input.host.uid]
