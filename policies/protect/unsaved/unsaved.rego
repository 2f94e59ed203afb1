# METADATA
# title: Unsaved work
# description: >-
#   Keeps a folder that holds anything which exists nowhere else: changed, untracked or ignored files, commits that no other ref
#   reaches, an operation under way. Safe are a linked worktree of which git says that there is none of it, and an empty folder. What a
#   tool writes there for itself is none of it; what a spawned agent leaves for whoever started it is, until its spawn is completed.
package policies.protect.unsaved

# METADATA
# title: It may hold work that is nowhere else
# description: The folder holds something that would be lost, or whether it does is not known.
objections contains {
	"rule": "protect.unsaved",
	"message": _message,
	"evidence": {
		"lost": _lost,
		"ignored_paths": [path | some i, path in input.dir.git.ignored_paths; i < 5],
		"scaffold": [n | n := input.dir.git.scaffold],
		"reports": [n | n := input.dir.git.reports],
	},
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
	input.dir.git.worktree == true
	input.dir.git.dirty == 0
	_beside_reports == 0
	input.dir.git.unreachable_commits == 0
	input.dir.git.operation == ""
	_taken
}

_saved if {
	input.dir.checkout == false
	input.dir.empty == true
}

_beside_reports := (input.dir.git.untracked + input.dir.git.ignored) - input.dir.git.reports

# Whoever started what wrote the reports has them: a spawn of the folder is on record, and none is open or has only just completed.
_taken if {
	some spawn in input.spawns
	spawn.by == "path"
	count(_completed) == count(input.spawns)
}

_completed contains place if {
	some place, spawn in input.spawns
	spawn.completed >= input.config.grace.spawn
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
