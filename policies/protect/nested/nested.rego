# METADATA
# title: Nested
# description: >-
#   Keeps a folder that holds another repository, a submodule or a mount point, or that is a symbolic link: what is in it
#   is not its own.
package policies.protect.nested

import data.policies.lib.words

# METADATA
# title: It holds what is not its own
# description: A repository or a mount point lies in the folder, or it is a symbolic link, or whether any of that is so is not known.
objections contains {
	"rule": "protect.nested",
	"message": words.said(_reasons, "whether another repository or a mount point lies in it is not known"),
	"evidence": words.known(_facts),
} if {
	input.kind == "dir"
	not _plain
}

_plain if {
	_own_place
	count(input.dir.git.nested) == 0
}

_plain if {
	_own_place
	input.dir.checkout == false
	input.dir.empty == true
}

# Something cheaper kept the folder, so that it was not looked into. protect.unsaved says so of every such folder.
_plain if {
	_own_place
	input.dir.skipped != ""
}

_own_place if {
	input.dir.symlink == false
	input.dir.mounts == 0
}

_reasons contains "it is a symbolic link" if input.dir.symlink == true

_reasons contains "a mount point is or lies in it" if input.dir.mounts > 0

_reasons contains $"another repository lies in it: {concat(", ", input.dir.git.nested)}" if count(input.dir.git.nested) > 0

_facts contains {"repositories": input.dir.git.nested}

_facts contains {"mounts": input.dir.mounts}
