# METADATA
# title: Process in a deleted worktree
# description: >-
#   A process that was left in a worktree which is gone: its working directory was deleted, lay in a folder that an orchestrator
#   keeps its worktrees in, and the process was inherited by one that takes in orphans. No marker is asked for.
# custom:
#   candidates: [cwd_deleted]
package policies.reap.processes.deleted

import data.policies.lib.processes

# METADATA
# title: In scope
# description: The working directory of the process was deleted, and lay in a folder of worktrees.
in_scope if {
	input.kind == "process"
	input.process.cwd_deleted == true
	count(_folders) > 0
}

# METADATA
# title: Its worktree was deleted
# description: The worktree that the process works in is gone, and so is whoever started it.
findings contains {
	"rule": "reap.processes.deleted",
	"message": "the worktree that it works in was deleted, and whoever started it is gone",
	"evidence": {"cwd": input.process.cwd, "folders": _folders, "parent": input.process.ppid, "age": input.age},
} if {
	in_scope
	processes.agent == false
	input.host.container == false
	input.process.ppid in input.host.orphan_parents
}

# The folder must be a whole part of the path, and something in it was deleted: not the folder itself, with all its worktrees.
_folders contains folder if {
	some folder in input.config.worktree_folders
	folder != ""
	contains(input.process.cwd, concat("", ["/", folder, "/"]))
}
