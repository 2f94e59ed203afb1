# METADATA
# title: Workspace
# description: |-
#   Keeps a tab whose closing would close more than the tab.
#
#   The last tab of a workspace, and every tab of a workspace that leads a group: the main checkout's, among workspaces of a
#   repository's worktrees. Also a tab of which either is not known.
# custom:
#   kinds: tab
#   why: |-
#     From 0.8.0 on herdr closes a workspace with its last tab, and the whole group with the workspace of the main checkout, with no
#     more than a question that somebody's next key may answer. Two reapers that each saw two tabs closed both
#     (erwins-enkel/shepherd#2039, #2056).
#   example: |-
#     `plan-review TASK-12`, an idle shell, alone in its workspace: spared. With a second tab beside it: not kept by this rule.
package policies.protect.workspace

import data.policies.lib.tabs
import data.policies.lib.words

# METADATA
# title: It is the last tab of its workspace
# description: herdr closes a workspace with its last tab. The tab is the last one, or whether it is could not be read.
objections contains {
	"rule": "protect.workspace",
	"message": words.said(_last, "whether it is the last tab of its workspace is not known"),
	"evidence": words.known(_facts),
} if {
	input.kind == "tab"
	not tabs.editor
	not input.tab.last_in_workspace == false
}

# METADATA
# title: Its workspace leads a group
# description: >-
#   herdr closes all workspaces of a repository's worktrees with the one of its main checkout. The tab's workspace is that one, or
#   whether it is could not be read.
objections contains {
	"rule": "protect.workspace",
	"message": words.said(_leading, "whether its workspace leads a group of workspaces is not known"),
	"evidence": words.known(_facts),
} if {
	input.kind == "tab"
	not tabs.editor
	not input.tab.group_parent == false
}

_last contains "it is the last tab of its workspace, which would be closed with it" if input.tab.last_in_workspace == true

_leading contains "its workspace leads a group of workspaces, which would all be closed with it" if input.tab.group_parent == true

_facts contains {"workspace": input.tab.workspace}
