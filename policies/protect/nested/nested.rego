# METADATA
# title: Nested
# description: Keeps a folder in which something lies that is not its own.
# custom:
#   kinds: dir
#   summary: {rank: 82, group: hold another repository or a mount}
package policies.protect.nested

import data.policies.lib.dirs
import data.policies.lib.reasons

objections contains reasons.keep_first([_reasons, dirs.skipped], _unknown, _facts) if {
	input.kind == "dir"
	not _plain
}

_unknown := "whether another repository or a mount point lies in it is not known"

_plain if {
	input.dir.symlink == false
	input.dir.mounts == 0
	_no_repository
}

_no_repository if count(input.dir.git.nested) == 0

_no_repository if [input.dir.checkout, input.dir.empty] == [false, true]

_no_repository if {
	input.dir.checkout == false
	count(input.dir.nested) == 0
}

# Something cheaper kept the checkout, so that it was not looked into. protect.unsaved says so of every such folder.
_no_repository if {
	input.dir.checkout == true
	input.dir.skipped != ""
}

_reasons contains "it is a symbolic link" if input.dir.symlink == true
_reasons contains "a mount point is or lies in it" if input.dir.mounts > 0

_reasons contains $"another repository lies in it: {concat(", ", found)}" if {
	some {"repositories": found} in _facts
	count(found) > 0
}

_facts contains {"repositories": input.dir.git.nested}
_facts contains {"repositories": input.dir.nested}
_facts contains {"mounts": input.dir.mounts}
