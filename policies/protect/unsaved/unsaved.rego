# METADATA
# title: Unsaved work
# description: Keeps a folder that holds anything which exists nowhere else.
# custom:
#   kinds: dir
#   summary:
#     - {rank: 80, group: hold commits found only there, word: commit, next: "git -C DIR log --oneline -5"}
#     - {rank: 82, group: hold files found only there, word: landed, next: diff -rq REPO DIR}
#     - {rank: 81, group: hold files found only there, next: "git -C DIR status --short --ignored"}
#   parameters: [rules.rebuildable, rules.makers, rules.tool_files, rules.disposable_content, rules.named_files,
#     rules.scaffold, rules.grace.spawn]
package policies.protect.unsaved

import data.policies.lib.dirs
import data.policies.lib.reasons
import data.policies.lib.registry

# One that was not looked into stays too: were the rule that keeps it turned off, it would go.
objections contains reasons.keep_first([(_reasons | dirs.skipped), _unread], _unknown, _facts) if {
	input.kind == "dir"
	not _saved
}

_unknown := "whether it holds unsaved work is not known"
_saved if dirs.made_again

_saved if {
	count(dirs.skipped) == 0
	_nothing_lost
}

_nothing_lost if dirs.disposable
_nothing_lost if dirs.empty_entry

_nothing_lost if [input.dir.checkout, input.dir.empty] == [false, true]

_nothing_lost if {
	input.dir.git.worktree == true
	input.dir.git.dirty == 0
	input.dir.git.unreachable_commits == 0
	input.dir.git.operation == ""
	_no_files
}

_no_files if [input.dir.git.untracked, input.dir.git.ignored] == [0, 0]

_no_files if {
	(input.dir.git.untracked + input.dir.git.ignored) - input.dir.git.reports == 0
	_taken
}

# Whoever started what wrote the reports has them: every spawn of the folder was completed long enough ago.
_taken if {
	"path" in {spawn.by | some spawn in input.spawns}
	count(registry.completed) == count(input.spawns)
}

_reasons contains $"it holds work that is nowhere else: {concat(", ", _lost)}" if count(_lost) > 0

# What is recorded of its branch is said, and is no condition of anything.
_reasons contains $"on record: {concat(" and ", input.signs)}, which is no proof that these have landed" if {
	input.dir.git.unreachable_commits > 0
	count(input.signs) > 0
}

_reasons contains "it is a repository of its own, and what it holds may be nowhere else" if {
	input.dir.git.worktree == false
}

_reasons contains "it holds files that are in no repository" if {
	input.dir.checkout == false
	input.dir.empty == false
}

_unread contains $"not all of it was read: {input.dir.error}" if input.dir.error != ""

_lost contains $"{what}: {found}{_named(name)}" if {
	some name, what in {
		"dirty": "changed files", "staged": "staged files", "untracked": "untracked files",
		"ignored": "ignored files that cannot be rebuilt",
		"unreachable_commits": "commits that nothing else reaches", "operation": "under way",
	}
	found := input.dir.git[name]
	not found in {0, ""}
}

# The first few of the files, with how each stands to the main checkout, and what to do when an ignored one may go.
default _named(_) := ""

_named(name) := $" ({first}{_more(named, input.dir.git[name])}{_advice(name)})" if {
	listed := input.dir.git[$"{name}_paths"]
	named := [$"{path} {_stands(path)}" | some path in listed]
	count(named) > 0
	first := concat(", ", array.slice(named, 0, input.config.named_files))
}

default _more(_, _) := ""

_more(named, total) := $" and {total - input.config.named_files} more" if count(named) > input.config.named_files

default _advice(_) := ""

_advice("ignored") := "; add to rules.rebuildable what may go"

# A function cannot take these lists as arguments: one that is not known would leave it without a value.
# regal ignore:external-reference
_stands(path) := $"never landed on {input.dir.git.upstream}" if {
	input.dir.git.lost == true
} else := "has no mark of a tool that made it (rules.makers)" if {
	# regal ignore:external-reference
	path in input.dir.git.unmarked_paths
} else := "differs from the main checkout's" if {
	# regal ignore:external-reference
	path in input.dir.git.differing_paths
} else := "is in this folder only" if {
	# regal ignore:external-reference
	path in input.dir.git.only_here_paths
} else := "was not compared with the main checkout's"

_facts contains {"lost": _lost}
_facts contains {name: input.dir.git[name] | some name in {"scaffold", "reports"}}
_facts contains {"ignored_paths": input.dir.git.ignored_paths} if count(input.dir.git.ignored_paths) > 0
_facts contains {"signs": input.signs} if count(input.signs) > 0
