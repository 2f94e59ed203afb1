# METADATA
# title: Scratch folders
# description: A scratch folder that has not changed for a while.
# custom:
#   needs: [dirs]
#   own:
#     scratch_after: {type: duration, default: 3d, description: how long it must not have changed}
package policies.reap.dirs.scratch

# METADATA
# title: In scope
# description: True for a folder whose name says that it is for scratch work.
in_scope if startswith(input.dir.name, "scratch-")

# METADATA
# title: An old scratch folder
# description: Nothing in it has changed for scratch_after.
findings contains {
	"message": "a scratch folder that has not changed for a while",
	"evidence": {"idle": input.idle},
} if {
	in_scope
	input.idle >= input.config.custom.scratch_after
}
