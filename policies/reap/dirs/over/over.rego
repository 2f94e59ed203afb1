# METADATA
# title: Worktree of an owner that has ended
# description: |-
#   A linked git worktree that holds nothing, and of which its owner says that it may go.
#
#   In scope is every linked worktree. It holds nothing when its repository has an entry for it and it has no changed, untracked or
#   ignored file (but for what can be rebuilt), no commit that only it reaches, no operation under way and no other repository in
#   it. Whether its branch has landed does not matter: the branch stays, with every commit.
#
#   That it may go is said by
#
#   - a **registry**: an entry whose own folder this is, by its very path, is positively over, as for a [session](finished.md), and
#     so is every other entry of that id. It ended after this folder was made: an earlier end speaks of an earlier folder. Nothing
#     may have happened in the folder for `landed_after`. Where a person asks for it alone (`winnow cleanup dir:/path --safe`), it
#     need not have been quiet, nor need the entry say when it ended;
#   - its **user**: `winnow cleanup dir:/path --safe --mine`, for a folder that belongs to them. The finding and the ledger say that
#     it was they who said so.
# custom:
#   needs: [worktrees]
#   waits: [rules.grace.dir]
#   parameters:
#     rules.landed_after: "how long nothing may have happened in it"
#     rules.terminal_statuses: "the words that say an owner has ended"
#   why: |-
#     A worktree whose branch waits for a review has not landed, and one on which nothing was committed never will: it stayed for
#     ever, although the registry said that its worker had ended. A sweep leaves it a day all the same, since what a worker has
#     completed somebody may be about to look at.
#
#     A name alone is no owner: an entry of a folder in it, of the folder around it, or of one that the owner only worked in
#     (Shepherd's sessions without a worktree of their own) gives no finding. Codev keeps no record of a builder that has ended, so that
#     none gives one.
#   example: |-
#     `{"id": "w7", "status": "completed", "path": "/w/w7", "ended_at": "16:00"}`, and `/w/w7` is clean since noon: reaped the next
#     day at noon, or at once with `winnow cleanup dir:/w/w7 --safe`. With one new file in it: [protect.unsaved](unsaved.md). With
#     another entry of `/w/w7` that is running: [protect.owned](owned.md). With a hold: [protect.held](held.md).
package policies.reap.dirs.over

import data.policies.lib.dirs
import data.policies.lib.registry
import data.policies.lib.words

# METADATA
# title: In scope
# description: The folder is a linked worktree.
in_scope if {
	input.kind == "dir"
	input.dir.git.worktree == true
}

# METADATA
# title: Its owner has ended
# description: >-
#   The registry entry whose own folder this is, is positively over, and so is every other one of that id. It ended after the folder was
#   made, and nothing has happened in the folder for a while. Where the user asks for this one folder by name it need not have been
#   quiet, nor need the entry say when it ended.
findings contains {
	"rule": "reap.dirs.over",
	"message": $"the registry says that its owner has ended, and it holds nothing that is not in the repository{dirs.void_lock}",
	"evidence": words.known(_facts | {{"source": entry.source}, {"entry": entry.id}}),
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
	"rule": "reap.dirs.over",
	"message": "its user says that it is theirs and may go, and it holds nothing that is not in the repository",
	"evidence": {"by": input.asked.by, "uid": input.asked.uid},
} if {
	dirs.holds_nothing
	_asked
	input.asked.mine == true
	input.asked.uid == input.dir.uid
}

_facts contains {"idle": input.idle}

_facts contains {"lock": dirs.lock} if dirs.lock != ""

_facts contains {"signs": input.signs} if count(input.signs) > 0

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

_asked if {
	input.asked.by == "user"
	input.asked.uid == input.host.uid
}
