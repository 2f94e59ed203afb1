# METADATA
# title: Nested
# description: >-
#   Keeps a folder that holds another repository, a submodule or a mount point, or that is a symbolic link: what is in it
#   is not its own.
package policies.protect.nested

# METADATA
# title: It holds what is not its own
# description: A repository or a mount point lies in the folder, or whether one does could not be read.
objections contains {
	"rule": "protect.nested",
	"message": "another repository or a mount point lies in it, or whether one does is not known",
	"evidence": {
		"repositories": [nested | some nested in input.dir.git.nested],
		"mounts": [mounts | mounts := input.dir.mounts],
	},
} if {
	input.kind == "dir"
	not _plain
}

# METADATA
# title: It is a symbolic link
# description: The folder was reached through a symbolic link, or whether it was could not be read.
objections contains {
	"rule": "protect.nested",
	"message": "it is a symbolic link, or whether it is one is not known",
	"evidence": {},
} if {
	input.kind == "dir"
	not _real
}

_plain if {
	input.dir.mounts == 0
	count(input.dir.git.nested) == 0
}

_plain if {
	input.dir.mounts == 0
	input.dir.checkout == false
	input.dir.empty == true
}

_real if input.dir.symlink == false
