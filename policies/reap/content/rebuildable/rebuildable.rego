# METADATA
# title: Content that can be made again
# description: |-
#   A folder in a linked worktree that stays, such as `node_modules` or `target`, that its tools can make again.
#
#   The candidate is that folder alone: a decision of kind `dir` with `action: trim`. Its worktree, every tracked, changed or untracked
#   file in it, and every ignored file outside of the folder stay. The folder goes when all of this is known: git ignores it as a
#   whole and tracks no file in it; its name is one of `rebuildable`, and where people use that name too, a mark in it shows which
#   tool made it (`makers`); it is a real folder on the mount of its worktree, holds no
#   repository of any kind and nothing of another user; it takes up at least `trim_min`; and nothing has happened in it or
#   anywhere in its worktree for `trim_after`: no file changed, no git command. The worktree is a linked one that its repository knows
#   and that is not locked. A main checkout or a clone is never touched.
#
#   What keeps the worktree from use keeps the folder: a process that lives in the worktree or uses anything in it
#   ([protect.live](live.md)), a hold on either of them ([protect.held](held.md)), `protected` with a pattern for either
#   ([protect.protected](protected.md)), a project that keeps either ([protect.project](project.md)), an owner that has not ended,
#   however idle ([protect.owned](owned.md)). [protect.unsaved](unsaved.md) does not: unsaved work is why the worktree stays.
#
#   When the worktree goes as a whole in the same sweep, its content goes with it and is no candidate of its own. The folder is moved
#   into the trash on the same mount, and `winnow restore` brings it back, until `act.trash_ttl` has passed or the tool has made it again.
# custom:
#   needs: [worktrees]
#   waits: [rules.trim_after]
#   parameters:
#     rules.rebuildable: "names of what can be made again"
#     rules.makers: "what shows that a tool made a folder whose name people use too"
#     rules.trim_after: "how long nothing may have happened in the worktree, while the machine was [awake](young.md)"
#     rules.trim_min: "what the folder must take up at least"
#   why: |-
#     Most of what an unmerged worktree takes up is what a package manager or a compiler put there: people have hundreds of gigabytes of
#     it in branches that they must keep. It is on by default because nothing is lost: for a week the folder is one command away, without
#     network; after that it takes a build. Three days awake are long enough that most people are done with the branch. Where a build is dear
#     or the machine is offline for weeks: `rules.levels: {reap.content.rebuildable: ask}` leaves it to you, folder by folder, and `off` takes nothing.
#   example: |-
#     ```
#     dir:/w/feature/node_modules   reap   reap.content.rebuildable: all that is in it can be made again (node_modules), and nothing has happened in its worktree for 4d
#     ```
#
#     `winnow restore` of that act brings it back. With a file in it that git tracks, or with a shell in `/w/feature`: it stays.
package policies.reap.content.rebuildable

import data.policies.lib.content
import data.policies.lib.words

# METADATA
# title: In scope
# description: The folder lies in a linked worktree and its name is one of what can be made again.
in_scope if {
	input.kind == "dir"
	input.dir.content.linked == true
	input.dir.content.pattern != ""
}

# METADATA
# title: It can be made again
# description: All that is in the folder can be made again, it is large, and nothing has happened in its worktree for a while.
findings contains {
	"rule": "reap.content.rebuildable",
	"message": $"all that is in it can be made again ({input.dir.content.pattern}), and nothing has happened in its worktree for {words.span(input.idle)}",
	"evidence": words.known(_facts),
} if {
	in_scope
	content.made_again
	content.large
}

_facts contains {"worktree": input.dir.content.worktree}

_facts contains {"pattern": input.dir.content.pattern}

_facts contains {"bytes": input.dir.content.bytes}

_facts contains {"idle": input.idle}
