# METADATA
# title: Folders
# description: What a folder's name and path say.
package policies.lib.dirs

# METADATA
# title: Shapes
# description: The expressions for names of folders that are made to be thrown away, as far as they match this folder's.
shapes contains shape if {
	input.kind == "dir"
	some shape in input.config.disposable_dirs
	shape != ""
	regex.match(shape, input.dir.name)
}
