# METADATA
# title: Landed worktree
# description: |-
#   A linked git worktree whose work is all on the remote's default branch.
#
#   In scope is every linked worktree. It has landed when the repository has an entry for it, its HEAD is reachable from the
#   remote's default branch, at least one commit was made in it, no commit is reached from it alone, and it holds no changed,
#   untracked or ignored file but what can be made again and what tools wrote for themselves ([protect.unsaved](unsaved.md)).
#   Nothing may have happened in it for `landed_after`.
# custom:
#   needs: [worktrees, upstream]
#   waits: [rules.grace.dir]
#   parameters:
#     rules.landed_after: "how long nothing may have happened in it while the machine was [awake](young.md)"
#   why: |-
#     `git branch --merged` lists a branch that has no commit of its own yet, and a reaper judged such branches merged: work that had
#     only just started was deleted (marcusquinn/aidevops#22606). So at least one commit made *here* is asked for.
#   example: |-
#     ```
#     dir:/w/feature   reap   reap.dirs.landed: all its work is on refs/remotes/origin/main, and nothing has happened in it for a while
#     ```
#
#     With `"commits": 0`: no finding.
#
#     A branch that was squashed on its way in looks unlanded, and stays.
package policies.reap.dirs.landed

import data.policies.lib.dirs
import data.policies.lib.words

# METADATA
# title: In scope
# description: The folder is a linked worktree.
in_scope if {
	input.kind == "dir"
	input.dir.git.worktree == true
}

# METADATA
# title: Its work has landed
# description: Everything that was done in the worktree is on the remote's default branch.
findings contains {
	"rule": "reap.dirs.landed",
	"message": $"all its work is on {input.dir.git.upstream}, and nothing has happened in it for {words.span(input.idle)}",
	"evidence": words.known(_facts),
} if {
	in_scope
	input.dir.git.registered == true
	input.dir.git.landed == true
	input.dir.git.upstream != ""
	input.dir.git.head != ""
	input.dir.git.commits >= 1
	input.dir.git.unreachable_commits == 0
	input.dir.git.dirty == 0
	input.dir.git.untracked == 0
	input.dir.git.ignored == 0
	input.idle >= input.config.landed_after
}

_facts contains {"upstream": input.dir.git.upstream}

_facts contains {"head": input.dir.git.head}

_facts contains {"commits": input.dir.git.commits}

_facts contains {"idle": input.idle}

_facts contains {"scaffold": input.dir.git.scaffold}

_facts contains {"lock": dirs.lock} if dirs.lock != ""
