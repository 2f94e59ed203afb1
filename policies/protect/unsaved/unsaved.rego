# METADATA
# title: Unsaved work
# description: >-
#   Keeps a folder that holds anything which exists nowhere else: changed, untracked or ignored files, commits that no other ref
#   reaches, an operation under way. Safe are a linked worktree of which git says that there is none of it, and an empty folder.
package policies.protect.unsaved

# METADATA
# title: It may hold work that is nowhere else
# description: The folder holds something that would be lost, or whether it does is not known.
objections contains {
	"rule": "protect.unsaved",
	"message": _message,
	"evidence": {"lost": _lost, "ignored_paths": [path | some path in input.dir.git.ignored_paths]},
} if {
	input.kind == "dir"
	not _saved
}

_saved if {
	input.dir.git.worktree == true
	input.dir.git.dirty == 0
	input.dir.git.untracked == 0
	input.dir.git.ignored == 0
	input.dir.git.unreachable_commits == 0
	input.dir.git.operation == ""
}

_saved if {
	input.dir.checkout == false
	input.dir.empty == true
}

_lost contains $"changed files: {input.dir.git.dirty}" if input.dir.git.dirty > 0

_lost contains $"untracked files: {input.dir.git.untracked}" if input.dir.git.untracked > 0

_lost contains $"ignored files that cannot be rebuilt: {input.dir.git.ignored}" if input.dir.git.ignored > 0

_lost contains $"commits that nothing else reaches: {input.dir.git.unreachable_commits}" if input.dir.git.unreachable_commits > 0

_lost contains $"under way: {input.dir.git.operation}" if input.dir.git.operation != ""

default _message := "whether it holds unsaved work is not known"

_message := concat("", ["it holds work that is nowhere else; ", concat(", ", _lost)]) if {
	count(_lost) > 0
} else := $"it was not looked into, because {input.dir.skipped}" if {
	input.dir.skipped != ""
} else := "it is a repository of its own, and what it holds may be nowhere else" if {
	input.dir.git.worktree == false
} else := "it holds files that are in no repository" if {
	input.dir.checkout == false
	input.dir.empty == false
}
