# METADATA
# title: Nested
# description: >-
#   Keeps a folder that holds another repository, a submodule or a mount point, or that is a symbolic link: what is in it
#   is not its own.
package policies.protect.nested

# METADATA
# title: It holds what is not its own
# description: A repository or a mount point lies in the folder, or it is a symbolic link, or whether any of that is so is not known.
objections contains {
	"rule": "protect.nested",
	"message": _message,
	"evidence": {
		"repositories": [nested | some nested in input.dir.git.nested],
		"mounts": [mounts | mounts := input.dir.mounts],
	},
} if {
	input.kind == "dir"
	not _plain
}

_plain if {
	input.dir.symlink == false
	input.dir.mounts == 0
	count(input.dir.git.nested) == 0
}

_plain if {
	input.dir.symlink == false
	input.dir.mounts == 0
	input.dir.checkout == false
	input.dir.empty == true
}

default _message := "whether another repository or a mount point lies in it is not known"

_message := "it is a symbolic link" if {
	input.dir.symlink == true
} else := "a mount point is or lies in it" if {
	input.dir.mounts > 0
} else := "another repository lies in it" if {
	count(input.dir.git.nested) > 0
}
