# METADATA
# title: Folders
# description: What a folder's name and path say.
package policies.lib.dirs

# The expressions for names of folders that are made to be thrown away, as far as they match this folder's.
shapes contains shape if {
	input.kind == "dir"
	some shape in input.config.disposable_dirs
	shape != ""
	regex.match(shape, input.dir.name)
}

# True for a linked worktree that its repository knows and that positively holds nothing that is nowhere else.
holds_nothing if {
	input.kind == "dir"
	input.dir.git.worktree == true
	input.dir.git.registered == true
	input.dir.git.head != ""
	input.dir.git.dirty == 0
	input.dir.git.untracked == 0
	input.dir.git.ignored == 0
	input.dir.git.unreachable_commits == 0
	input.dir.git.operation == ""
	count(input.dir.git.nested) == 0
}

# True for a linked worktree whose folder is positively gone, and whose entry holds nothing that only it has.
empty_entry if {
	input.kind == "dir"
	input.dir.gone == true
	input.dir.symlink == false
	input.dir.git.worktree == true
	input.dir.git.registered == true
	input.dir.git.head != ""
	input.dir.git.staged == 0
	input.dir.git.unreachable_commits == 0
	input.dir.git.operation == ""
	count(input.dir.git.nested) == 0
}

# True for a folder outside of all repositories that rules.disposable_content lists: not the home, and no root.
disposable if {
	input.kind == "dir"
	input.dir.checkout == false
	input.dir.symlink == false
	count(input.dir.nested) == 0
	input.dir.path != ""
	input.dir.root != ""
	input.dir.path != input.dir.root
	input.host.home != ""
	input.host.home != input.dir.path
	startswith(input.host.home, concat("", [input.dir.path, "/"])) == false
	some declared in input.config.disposable_content
	glob.match(declared, ["/"], input.dir.path)
}

# True for a worktree that is known to be detached, or to be on no branch that people take for the default one.
own_branch if input.dir.git.detached == true

own_branch if {
	name := trim_prefix(input.dir.git.branch, "refs/heads/")
	name != ""
	count({name} & {"main", "master", "trunk"}) == 0
	input.dir.git.upstream != ""
	endswith(input.dir.git.upstream, $"/{name}") == false
	every declared in input.config.landing_branches { glob.match(declared, ["/"], name) == false }
}

# True for a worktree that positively has no lock, or the lock of a tool whose process has positively ended.
unlocked if input.dir.git.locked == false
unlocked if _void

_void if {
	input.dir.git.lock.tool != ""
	input.dir.git.lock.alive == false
}

# Why it was not looked into: something cheaper keeps it.
skipped contains $"it was not looked into, because {input.dir.skipped}" if input.dir.skipped != ""

# For evidence: how long nothing has happened in it, and what is on record of its branch, if anything is.
facts contains {"idle": input.idle}
facts contains {"signs": input.signs} if count(input.signs) > 0

# Who locked it, for evidence.
locks contains {"lock": lock} if lock != ""

# Who locked the worktree, and whether they are still there, in words; "" where there is no lock.
default lock := ""

lock := $"locked by {_locker}, which is gone" if {
	input.dir.git.lock.alive == false
} else := $"locked by {_locker}, which is alive" if {
	input.dir.git.lock.alive == true
} else := $"locked by {_locker}, of which it is not known whether it is alive" if {
	input.dir.git.lock.tool != ""
} else := sprintf("locked with the reason %q", [input.dir.git.lock.text]) if {
	input.dir.git.lock.text != ""
} else := "locked without a reason" if {
	input.dir.git.lock.text == ""
}

# The end of a message about a worktree whose lock names a process that has positively ended; "" for any other.
default void_lock := ""

void_lock := $"; it is {lock}" if _void

_locker := $"{input.dir.git.lock.tool} {input.dir.git.lock.owner} (pid {input.dir.git.lock.pid})" if {
	input.dir.git.lock.owner != ""
} else := $"{input.dir.git.lock.tool} (pid {input.dir.git.lock.pid})" if {
	input.dir.git.lock.pid > 0
} else := input.dir.git.lock.tool

# It is known that git ignores the folder as a whole, that a tool made it in a linked worktree that is not locked, that
# it holds no repository and nothing of another user, and that nothing has happened there for trim_after.
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
