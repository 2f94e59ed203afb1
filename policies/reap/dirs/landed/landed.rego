# METADATA
# title: Landed worktree
# description: >-
#   A linked git worktree in which work was done, whose every commit is on the remote's default branch, which holds nothing else
#   and in which nothing has happened for a while. A branch without a commit of its own has not landed: it has not begun.
package policies.reap.dirs.landed

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
	"message": $"all its work is on {input.dir.git.upstream}, and nothing has happened in it for a while",
	"evidence": {
		"upstream": input.dir.git.upstream,
		"head": input.dir.git.head,
		"commits": input.dir.git.commits,
		"idle": input.idle,
		"scaffold": [n | n := input.dir.git.scaffold],
	},
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
