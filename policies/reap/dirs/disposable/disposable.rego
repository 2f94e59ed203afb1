# METADATA
# title: Disposable folder
# description: |-
#   A folder whose name says that it was made to be thrown away.
#
#   In scope is every folder whose name matches one of the expressions. That is all that this rule asks; what is in the folder is
#   for [protect.unsaved](unsaved.md), [protect.nested](nested.md) and the others to look at.
# custom:
#   needs: [dirs, rules.disposable_dirs]
#   waits: [rules.grace.dir]
#   parameters:
#     rules.disposable_dirs: "regular expressions on the folder's name"
#   why: |-
#     Reviews and probes are checked out next to the real work by the hundred. A name alone must never cost a file, so a folder goes
#     only when it is a clean linked worktree or empty.
#   example: |-
#     `acme-review-1a2b3c4d`, empty, unchanged for a day: reaped. With an open review on record, or a session of that very folder:
#     spared by [protect.owned](owned.md). With a single untracked file in it: spared by `protect.unsaved`, unless that is what its
#     reviewer left and the review is completed. `acme-review-1a2b3c4d-mine`: not in scope.
package policies.reap.dirs.disposable

import data.policies.lib.dirs

# METADATA
# title: In scope
# description: The folder's name has a disposable shape.
in_scope if {
	input.kind == "dir"
	count(dirs.shapes) > 0
}

# METADATA
# title: Its name says that it is disposable
# description: The folder's name matches a configured regular expression.
findings contains {
	"rule": "reap.dirs.disposable",
	"message": "its name says that it was made to be thrown away",
	"evidence": {"name": input.dir.name, "shape": shape},
} if {
	input.kind == "dir"
	some shape in dirs.shapes
}
