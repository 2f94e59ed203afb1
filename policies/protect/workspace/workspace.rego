# METADATA
# title: Workspace
# description: Keeps a tab whose closing would close more than the tab.
# custom:
#   kinds: tab
#   summary: {rank: 83, group: needed by their workspace}
package policies.protect.workspace

import data.policies.lib.reasons
import data.policies.lib.tabs

# METADATA
# title: It is the last tab of its workspace
# description: herdr closes a workspace with its last tab. The tab is the last one, or whether it is could not be read.
objections contains {
	"message": reasons.or_default(_last, "whether it is the last tab of its workspace is not known"),
	"evidence": reasons.evidence(_facts),
} if {
	input.kind == "tab"
	not tabs.editor
	not input.tab.last_in_workspace == false
}

# METADATA
# title: Its workspace leads a group
# description: >-
#   herdr closes all workspaces of a repository's worktrees with the one of its main checkout. The tab's workspace is
#   that one, or whether it is could not be read.
objections contains {
	"message": reasons.or_default(_leading, "whether its workspace leads a group of workspaces is not known"),
	"evidence": reasons.evidence(_facts),
} if {
	input.kind == "tab"
	not tabs.editor
	not input.tab.group_parent == false
}

_last contains "it is the last tab of its workspace, which would be closed with it" if input.tab.last_in_workspace == true

_leading contains "its workspace leads a group of workspaces, which would all be closed with it" if input.tab.group_parent == true

_facts contains {"workspace": input.tab.workspace}
