# METADATA
# title: Landed worktree
# description: >-
#   A linked git worktree in which work was done, whose every commit is on the remote's default branch, which holds nothing else
#   and in which nothing has happened for a while. A branch without a commit of its own has not landed: it has not begun.
package policies.reap.dirs.landed

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
