# METADATA
# title: Disposable folder
# description: A folder whose name says that it was made to be thrown away.
# custom:
#   needs: [dirs, rules.disposable_dirs]
#   waits: [rules.grace.dir]
#   parameters: [rules.disposable_dirs]
package policies.reap.dirs.disposable

import data.policies.lib.dirs

# The folder's name has a disposable shape.
in_scope if count(dirs.shapes) > 0

findings contains {
	"message": "its name says that it was made to be thrown away",
	"evidence": {"name": input.dir.name, "shape": shape},
} if some shape in dirs.shapes
