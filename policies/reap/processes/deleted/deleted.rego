# METADATA
# title: Process in a deleted worktree
# description: A process that still runs in a worktree which was deleted.
# custom:
#   candidates: [cwd_deleted]
#   needs: [init, rules.worktree_folders]
#   waits: [rules.grace.process, rules.confirm_process_after]
#   parameters: [rules.worktree_folders, rules.agents]
package policies.reap.processes.deleted

import data.policies.lib.processes

# The working directory of the process was deleted, and lay in a folder of worktrees.
in_scope if count(processes.worktree_folders) > 0

findings contains {
	"message": "the worktree that it works in was deleted, and the process that started it is gone",
	"evidence": {"cwd": input.process.cwd, "folders": folders, "parent": input.process.ppid, "age": input.age},
} if {
	in_scope
	processes.agent == false
	input.host.container == false
	input.process.ppid in input.host.orphan_parents
	folders := processes.worktree_folders
}
