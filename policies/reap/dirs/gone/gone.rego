# METADATA
# title: Worktree whose folder is gone
# description: |-
#   A linked git worktree that its repository still lists, although its folder was removed by hand.
#
#   The candidate is the repository's entry for it (`.git/worktrees/<name>`); the folder itself is gone already. It goes when all of this
#   is known: the folder is missing from the folder that it lay in; that one is on the mount of the repository, and is the very one in which the
#   worktree was; nothing is mounted there, and neither the machine (fstab, units of systemd) nor an earlier look knows of a mount on the way there that is
#   missing now (the ledger remembers on which mounts worktrees lay); no other folder beside the repository's worktrees belongs to the entry, as one that was moved
#   by hand would; no lock counts ([protect.protected](protected.md)); no operation such as a rebase is under way; nothing is staged that HEAD does
#   not have; and no commit is reached from the entry alone. Nothing may have happened in the entry for `landed_after`.
#
#   The branch and all its commits stay. What does not fulfil the first of these is no candidate: the source names it (`refused`).
# custom:
#   needs: [worktrees]
#   waits: [rules.grace.dir]
#   parameters:
#     rules.landed_after: "how long nothing may have happened in the entry while the machine was [awake](young.md)"
#   why: |-
#     `rm -rf` of a worktree leaves its entry: git goes on listing it, and refuses to check its branch out elsewhere. `git worktree prune` removes all
#     such entries at once and for good, also that of a disk that is only not mounted, with the reflog and what was staged. Winnow takes
#     one at a time into the trash, and only where the folder is positively gone; `winnow restore` brings it back.
#   example: |-
#     ```
#     dir:/w/old   reap   reap.dirs.gone: its folder is gone; git still lists it
#     ```
#
#     With a commit that no branch reaches: it stays ([protect.unsaved](unsaved.md)). With a process in the folder that was removed:
#     [protect.live](live.md).
package policies.reap.dirs.gone

import data.policies.lib.dirs
import data.policies.lib.words

# METADATA
# title: In scope
# description: The folder is gone, and it was a linked worktree.
in_scope if {
	input.kind == "dir"
	input.dir.gone == true
	input.dir.git.worktree == true
}

# METADATA
# title: Its folder is gone
# description: The worktree's folder is gone, and its entry holds nothing that is nowhere else.
findings contains {
	"rule": "reap.dirs.gone",
	"message": $"its folder is gone; git still lists it{dirs.void_lock}",
	"evidence": words.known(_facts),
} if {
	in_scope
	dirs.empty_entry
	dirs.unlocked
	input.idle >= input.config.landed_after
}

_facts contains {"head": input.dir.git.head}

_facts contains {"branch": input.dir.git.branch}

_facts contains {"entry": input.dir.git.admin_dir}

_facts contains {"idle": input.idle}

_facts contains {"signs": input.signs} if count(input.signs) > 0
