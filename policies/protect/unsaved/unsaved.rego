# METADATA
# title: Unsaved work
# description: >-
#   Keeps a folder that holds anything which exists nowhere else: changed, untracked or ignored files, commits that no other ref
#   reaches, an operation under way. Safe are a linked worktree of which git says that there is none of it, and an empty folder. What a
#   tool writes there for itself is none of it; what a spawned agent leaves for whoever started it is, until its spawn is completed.
package policies.protect.unsaved

import data.policies.lib.words

# METADATA
# title: It may hold work that is nowhere else
# description: The folder holds something that would be lost, or whether it does is not known, for instance because nobody looked into it.
objections contains {
	"rule": "protect.unsaved",
	"message": words.said(_reasons, words.said(_skipped, "whether it holds unsaved work is not known")),
	"evidence": words.known(_facts),
} if {
	input.kind == "dir"
	not _saved
}

_saved if {
	_clean
	input.dir.git.untracked == 0
	input.dir.git.ignored == 0
}

_saved if {
	_clean
	(input.dir.git.untracked + input.dir.git.ignored) - input.dir.git.reports == 0
	_taken
}

_saved if {
	input.dir.checkout == false
	input.dir.empty == true
	count(_skipped) == 0
}

_clean if {
	input.dir.git.worktree == true
	input.dir.git.dirty == 0
	input.dir.git.unreachable_commits == 0
	input.dir.git.operation == ""
	count(_skipped) == 0
}

# Whoever started what wrote the reports has them: a spawn of the folder is on record, and every spawn of it was completed long enough ago.
_taken if {
	"path" in {spawn.by | some spawn in input.spawns}
	every spawn in input.spawns {
		spawn.completed >= input.config.grace.spawn
	}
}

_reasons contains $"it holds work that is nowhere else: {concat(", ", _lost)}" if count(_lost) > 0

_reasons contains "it is a repository of its own, and what it holds may be nowhere else" if input.dir.git.worktree == false

_reasons contains "it holds files that are in no repository" if {
	input.dir.checkout == false
	input.dir.empty == false
}

# Something cheaper keeps the folder, and its own rule objects. This rule objects all the same: were that one turned off, a folder that
# nobody looked into would go.
_skipped contains $"it was not looked into, because {input.dir.skipped}" if input.dir.skipped != ""

_lost contains $"changed files: {input.dir.git.dirty}" if input.dir.git.dirty > 0

_lost contains $"untracked files: {input.dir.git.untracked}" if input.dir.git.untracked > 0

_lost contains $"ignored files that cannot be rebuilt: {input.dir.git.ignored}" if input.dir.git.ignored > 0

_lost contains $"commits that nothing else reaches: {input.dir.git.unreachable_commits}" if input.dir.git.unreachable_commits > 0

_lost contains $"under way: {input.dir.git.operation}" if input.dir.git.operation != ""

_facts contains {"lost": _lost}

_facts contains {"ignored_paths": input.dir.git.ignored_paths}

_facts contains {"scaffold": input.dir.git.scaffold}

_facts contains {"reports": input.dir.git.reports}
