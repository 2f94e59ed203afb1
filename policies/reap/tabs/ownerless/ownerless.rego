# METADATA
# title: Tab of a builder that is gone
# description: |-
#   A terminal tab of an editor that shows a builder of Codev's, or its development server, whose builder was cleaned up.
#
#   In scope are tabs that Codev's extension draws and opened under a builder's name (`Codev: builder-pir-883`, `Dev: builder-pir-883`),
#   and no others: never an architect's, never a shell. Such a tab has no process, and its name is all that ties it to its builder. So
#   the builder is looked for by that name, in every spelling of its id (`Codev: Builder-PIR-0883` is `builder-pir-883`), in the
#   workspaces of Codev's that the window has open. It is gone when the store, read whole, has no row for it there, and there is no
#   folder of its worktree although the workspace is there.
#
#   This compares nothing with an earlier look: as long as the tab is there, its builder is looked for anew. A trigger that was lost, a first look that came
#   late or a request that hung costs a moment and no more.
#
#   None of its own. While a terminal of that builder lives at the Tower, the tab waits for it ([protect.shown](shown.md)).
# custom:
#   candidates: [editor_tabs]
#   needs: [vscode, codev]
#   waits: [rules.confirm_after]
#   why: |-
#     When a builder is cleaned up its tab stays as a dead "Process exited" (cluesmith/codev#883). Codev's extension compares the builders
#     that it sees with those that it saw a moment ago, and misses the moment for any of six reasons.
#   example: |-
#     `builder-pir-883` has no row, and no folder below `.builders` is its worktree:
#
#     ```
#     tab:vscode/3f9a01bc/2   reap   reap.tabs.ownerless: its builder builder-pir-883 is no longer on record, and its worktree is gone
#     ```
#
#     While the row is there it is spared: `its builder builder-pir-883 is on record`. While the Tower does not answer it is spared by
#     [protect.unknown](unknown.md), and what was seen before counts on.
package policies.reap.tabs.ownerless

import data.policies.lib.tabs
import data.policies.lib.words

# METADATA
# title: In scope
# description: The tab is drawn by an extension, and was opened under the name of a builder of Codev's.
in_scope if {
	tabs.drawn
	input.tab.editor.codev.kind in {"builder", "dev"}
}

# METADATA
# title: Its builder is gone
# description: The builder has no row any more and no worktree, in every workspace that the window has open.
findings contains {
	"rule": "reap.tabs.ownerless",
	"message": $"its builder {input.tab.editor.codev.id} is no longer on record, and its worktree is gone",
	"evidence": words.known(_facts),
} if {
	in_scope
	tabs.ownerless
}

_facts contains {"builder": input.tab.editor.codev.id}

_facts contains {"workspaces": input.shown.workspaces}
