# METADATA
# title: Ended tab of an editor
# description: |-
#   A terminal tab of an editor that was opened for an agent, and whose process has ended.
#
#   In scope is a tab that was opened with a process for an agent: whoever opened it put an agent's marker into its environment, it was
#   made to run a program of `agents`, or it was opened under a name of `editor_names`. The name that it has now does not count,
#   because people rename tabs. A shell that a person opened is never in scope, and neither is a tab of which it is not known any more
#   how it was opened, as after a reload of the window of one that the extension had not seen before.
#
#   The process has ended when the process table, read whole, has none of that number and start. What the editor says of the end (an
#   exit code, an event) is no evidence: after a reload it says of a shell that lives that it was closed, and it shows the number of
#   a task that ended long ago.
#
#   Closing such a tab ends no process. Those that were started in it and live on (`nohup`, `setsid`) are named, and each is judged as
#   a process of its own.
# custom:
#   candidates: [editor_tabs]
#   needs: [vscode]
#   waits: [rules.confirm_after]
#   parameters:
#     rules.agents: "programs that are agents"
#     rules.editor_names: "tabs in scope by the name that they were opened with: `exact` names and `prefix`es"
#   why: |-
#     The terminal of a task stays until somebody presses a key in it, and so do tabs of agents that ended while the window did not look.
#     A window with a hundred of them is one in which nobody finds the living one.
#   example: |-
#     A task ran `claude`, which has ended; the tab says that a key closes it:
#
#     ```
#     tab:vscode/3f9a01bc/7   reap   reap.tabs.ended: its process (4711) has ended
#     ```
#
#     While the process lives it is spared by [protect.live](live.md). While it is the active tab of the window that has the focus it
#     is spared by [protect.attached](attached.md): a person may read its last lines, which are kept nowhere else.
package policies.reap.tabs.ended

import data.policies.lib.tabs
import data.policies.lib.words

# METADATA
# scope: document
# title: In scope
# description: The tab was opened with a process for an agent, by a marker, its program or the name that it was opened with.
in_scope if {
	tabs.of_process
	count(input.tab.editor.markers) > 0
}

in_scope if {
	tabs.of_process
	input.tab.editor.program in input.config.agents
}

in_scope if {
	tabs.of_process
	some exact in input.config.editor_names.exact
	exact != ""
	input.tab.editor.creation_name == exact
}

in_scope if {
	tabs.of_process
	some prefix in input.config.editor_names.prefix
	prefix != ""
	startswith(input.tab.editor.creation_name, prefix)
}

# METADATA
# title: Its process has ended
# description: No process of that number and start is in the process table.
findings contains {
	"rule": "reap.tabs.ended",
	"message": $"its process ({input.tab.editor.pid}) has ended",
	"evidence": words.known(_facts),
} if {
	in_scope
	tabs.ended
}

_facts contains {"creation_name": input.tab.editor.creation_name}

_facts contains {"program": input.tab.editor.program}

_facts contains {"markers": input.tab.editor.markers}

_facts contains {"typed": input.tab.editor.typed}

_facts contains {"live_on": {member.name | some member in input.tab.editor.session}}
