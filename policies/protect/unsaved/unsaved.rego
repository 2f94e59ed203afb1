# METADATA
# title: Unsaved work
# description: |-
#   Keeps a folder that holds anything which exists nowhere else.
#
#   Every folder but five: a linked worktree of which git says that it has no changed, untracked or ignored file, no commit that
#   nothing else reaches and no operation under way; an empty folder without a repository; a folder without a repository at or in
#   it whose path is declared disposable (`disposable_content`, empty by default), which is not the home, does not hold it and is no
#   root; a folder in a worktree that holds only what can be made again ([reap.content.rebuildable](rebuildable.md)); and a worktree
#   whose folder is gone and whose entry in the repository holds nothing of its own ([reap.dirs.gone](gone.md)). What was not looked
#   into, or could not be, stays.
#
#   Files that a tool writes into worktrees for itself are no work: Codev's prompt, role, start script, session id and write guard,
#   Claude Code's `settings.local.json`, and links from a Codev worktree to the main checkout's own `.env`. They count by their
#   exact path, as a regular file with no link on the way (or as a link to that very file of the main checkout), untracked or
#   ignored, and in that tool's worktrees only. A folder that is ignored as a whole counts when nothing else is in it. Any other
#   file beside them is work as ever, and so is one of these that a commit has and that was changed. They may have been edited, and
#   `settings.local.json` holds the permissions that somebody gave in that worktree: they go with it, and come back with it until
#   `act.trash_ttl` has passed.
#
#   A file that the main checkout has too, byte for byte at the same path, or that the upstream's tree has there, is no work: a copied
#   `.env`, a local configuration. Nor is a symbolic link to what the main checkout has at the same path. Only regular files of up to 1 MiB are
#   compared, no link is followed, and they are compared again right before an act. Any other file is named: it differs from the main checkout's, or it is in this folder only. What is
#   ignored and may go is for `rules.rebuildable` to say. People have results of their own in folders such as `build`, `dist` and `target`:
#   one of these is work unless it holds the mark of a tool that makes such folders (`rules.makers`: CACHEDIR.TAG, CMakeCache.txt).
#   Names that nobody but a tool uses (`rules.tool_files`: `.DS_Store`, `__pycache__`, `node_modules`) are no work where git does not
#   ignore them either, as where only a person's own configuration does.
#
#   What a spawned agent leaves for whoever started it (`reports`, such as a reviewer's verdict) is work until that one has it: a
#   spawn of the folder is on record, and every spawn of it was completed at least `grace.spawn` ago.
# custom:
#   kinds: dir
#   parameters:
#     rules.rebuildable: "ignored content that can be made again, and is no work"
#     rules.makers: "what shows that a tool made a folder whose name people use too"
#     rules.tool_files: "names that nobody but a tool uses, ignored or not"
#     rules.disposable_content: "folders outside of git whose files may go, by globs over their paths"
#     rules.named_files: "how many files of a kind the message names"
#     rules.scaffold: "files that tools write for themselves, by path"
#     rules.grace.spawn: "since the spawn of what left reports was completed"
#   why: |-
#     Plain `git worktree remove`, without force, deletes ignored files such as `.env`, the only copy of a detached HEAD's commits and
#     the state of a stopped rebase, and exits 0. Of 29 trees that a reaper called removable 28 held ignored files
#     (theQuert/cc-reaper#20).
#   example: |-
#     ```
#     dir:/w/feature   spare   protect.unsaved: it holds work that is nowhere else: ignored files that cannot be rebuilt: 1
#                              (.env differs from the main checkout's; add it to rules.rebuildable if it may go)
#     ```
package policies.protect.unsaved

import data.policies.lib.content
import data.policies.lib.dirs
import data.policies.lib.words

# METADATA
# title: It may hold work that is nowhere else
# description: The folder holds something that would be lost, or whether it does is not known, for instance because it was not looked into.
objections contains {
	"rule": "protect.unsaved",
	"message": words.said(_reasons | _skipped, words.said(_unread, "whether it holds unsaved work is not known")),
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

_saved if {
	dirs.disposable
	count(_skipped) == 0
}

_saved if content.made_again

_saved if {
	dirs.empty_entry
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
	count(_completed) == count(input.spawns)
}

_completed contains place if {
	some place, spawn in input.spawns
	spawn.completed >= input.config.grace.spawn
}

_reasons contains $"it holds work that is nowhere else: {concat(", ", _lost)}" if count(_lost) > 0

# What is recorded of its branch is said, and is no condition of anything.
_reasons contains $"on record: {concat(" and ", input.signs)}, which is no proof that these have landed" if {
	input.dir.git.unreachable_commits > 0
	count(input.signs) > 0
}

_reasons contains "it is a repository of its own, and what it holds may be nowhere else" if input.dir.git.worktree == false

_reasons contains "it holds files that are in no repository" if {
	input.dir.checkout == false
	input.dir.empty == false
}

# Something cheaper keeps the folder, and its own rule objects. This rule objects all the same: were that one turned off, a folder that
# nobody looked into would go.
_skipped contains $"it was not looked into, because {input.dir.skipped}" if input.dir.skipped != ""

_unread contains $"not all of it was read: {input.dir.error}" if input.dir.error != ""

_lost contains $"{what}: {found}{_named(name)}" if {
	some name, what in {
		"dirty": "changed files",
		"staged": "staged files",
		"untracked": "untracked files",
		"ignored": "ignored files that cannot be rebuilt",
		"unreachable_commits": "commits that nothing else reaches",
		"operation": "under way",
	}
	found := input.dir.git[name]
	not found in {0, ""}
}

# The first few of the files, with how each stands to the main checkout, and what to do when an ignored one may go.
default _named(_) := ""

_named(name) := $" ({concat(", ", array.slice(named, 0, input.config.named_files))}{_more(named, input.dir.git[name])}{_advice(name)})" if {
	listed := input.dir.git[concat("", [name, "_paths"])]
	named := [$"{path} {_stands(path)}" | some path in listed]
	count(named) > 0
}

default _more(_, _) := ""

_more(named, total) := $" and {total - input.config.named_files} more" if {
	count(named) > input.config.named_files
}

default _advice(_) := ""

_advice("ignored") := "; add to rules.rebuildable what may go"

# A function cannot take these lists as arguments: one that is not known would leave it without a value.
_stands(path) := "has no mark of a tool that made it (rules.makers)" if {
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

_facts contains {"ignored_paths": input.dir.git.ignored_paths} if count(input.dir.git.ignored_paths) > 0

_facts contains {"signs": input.signs} if count(input.signs) > 0

_facts contains {"scaffold": input.dir.git.scaffold}

_facts contains {"reports": input.dir.git.reports}
