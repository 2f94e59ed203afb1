# METADATA
# title: Process in a deleted worktree
# description: |-
#   A process that still runs in a worktree which was deleted.
#
#   In scope is a process whose working directory was deleted and lay in one of `worktree_folders`: the folder's name is a whole
#   part of the path, and not the last one, so that something in it was deleted and not the folder itself. It may go when it is
#   positively no agent, this is no container, and its parent is one of those that inherit orphans. It needs no marker. One that
#   carries an agent's marker and runs in an interpreter has to be of a listed family, as in [reap.processes.orphan](orphan.md).
# custom:
#   candidates: [cwd_deleted]
#   needs: [init, rules.worktree_folders]
#   waits: [rules.grace.process, rules.confirm_process_after]
#   parameters:
#     rules.worktree_folders: "names of folders that orchestrators keep their agents' worktrees in"
#     rules.agents: "never reaped, by name or by what they were started from"
#   why: |-
#     Closing a task removes its worktree and not what was started in it: 34 `yes` processes kept about 30 cores busy for six days
#     (erwins-enkel/shepherd#1133). What works in a folder that is gone has no use. But a build also deletes folders under what
#     it serves, so whoever is on record for the path still keeps it ([protect.owned](owned.md)), and so does a terminal, an open port
#     or an agent below it ([protect.live](live.md)).
#   example: |-
#     `node` (7100), parent the user's service manager, working directory `/w/.shepherd-worktrees/acme-7 (deleted)`: reaped. In
#     `/w/.shepherd-worktrees/acme-9/dist (deleted)` while the session of `acme-9` lives: spared. In `/tmp/build (deleted)`: not in
#     scope.
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
# description: The worktree that the process works in is gone, and so is the process that started it.
findings contains {
	"rule": "reap.processes.deleted",
	"message": "the worktree that it works in was deleted, and the process that started it is gone",
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
