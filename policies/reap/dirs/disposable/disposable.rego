# METADATA
# title: Disposable folder
# description: A folder whose name says that it was made to be thrown away; or one without a file, left of a worktree.
# custom:
#   needs: [dirs, rules.disposable_dirs]
#   waits: [rules.grace.dir]
#   parameters: [rules.disposable_dirs, rules.landed_after]
package policies.reap.dirs.disposable

import data.policies.lib.dirs

# The folder's name has a disposable shape, or it holds no file and lies in a folder for worktrees.
in_scope if count(dirs.shapes) > 0
in_scope if _left

_left if {
	input.dir.checkout == false
	input.dir.empty == true
	regex.match(`[/.]worktrees$`, input.dir.root)
}

findings contains {
	"message": "no file but tools' own is in it, and it lies where worktrees are: it is what is left of one",
	"evidence": {"root": input.dir.root, "idle": input.idle},
} if {
	_left
	input.idle >= input.config.landed_after
}

findings contains {
	"message": "its name says that it was made to be thrown away",
	"evidence": {"name": input.dir.name, "shape": shape},
} if some shape in dirs.shapes
