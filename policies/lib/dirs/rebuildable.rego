package policies.lib.dirs

# All of this is known of the folder: it lies in a linked worktree that its repository knows and that is
# not locked, git ignores it as a whole and tracks no file in it, a mark of one of rules.makers or a name of
# rules.rebuildable that only tools use shows who made it, it is no checkout and holds no other repository, everything
# in it is this user's, and nothing has happened in it or in its worktree for trim_after.
made_again if {
	input.kind == "dir"
	_here
	_in_worktree
	input.dir.content.ignored == true
	input.dir.content.tracked == 0
	input.dir.content.others == 0
	input.dir.content.maker != ""
	_listed
	input.idle >= input.config.trim_after
}

# It takes up at least trim_min on disk.
large if input.dir.content.bytes >= input.config.trim_min

_listed if input.dir.content.pattern in input.config.rebuildable
_listed if input.dir.content.maker in {maker.maker | some maker in input.config.makers}

_here if {
	input.dir.path != ""
	input.dir.symlink == false
	input.dir.checkout == false
	count(input.dir.nested) == 0
}

_in_worktree if {
	input.dir.content.linked == true
	input.dir.content.registered == true
	input.dir.content.locked == false
	input.dir.content.id != ""
	input.dir.content.name != ""
	startswith(input.dir.path, concat("", [input.dir.content.worktree, "/"]))
}
