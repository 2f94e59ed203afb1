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
objections contains reasons.keep(_last, $"whether {_is_last} is not known", _facts) if {
	input.kind == "tab"
	not tabs.editor
	not input.tab.last_in_workspace == false
}

# METADATA
# title: Its workspace leads a group
# description: herdr closes the workspaces of all worktrees with the one of the main checkout, and this one may be it.
objections contains reasons.keep(_leading, $"whether {_leads} is not known", _facts) if {
	input.kind == "tab"
	not tabs.editor
	not input.tab.group_parent == false
}

_is_last := "it is the last tab of its workspace"
_leads := "its workspace leads a group of workspaces"
_last contains $"{_is_last}, which would be closed with it" if input.tab.last_in_workspace == true
_leading contains $"{_leads}, which would all be closed with it" if input.tab.group_parent == true
_facts contains {"workspace": input.tab.workspace}
