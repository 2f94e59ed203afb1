# METADATA
# title: Tab of a builder that is gone
# description: A terminal tab of an editor that shows a builder of Codev's, or its server, whose builder was cleaned up.
# custom:
#   candidates: [editor_tabs]
#   needs: [vscode, codev]
#   waits: [rules.confirm_after]
package policies.reap.tabs.ownerless

import data.policies.lib.reasons
import data.policies.lib.tabs

# The tab is drawn by an extension, and was opened under the name of a builder of Codev's.
in_scope if {
	tabs.drawn
	input.tab.editor.codev.kind in {"builder", "dev"}
}

findings contains {
	"message": $"its builder {input.tab.editor.codev.id} is no longer on record, and its worktree is gone",
	"evidence": reasons.evidence(_facts),
} if {
	in_scope
	tabs.ownerless
}

_facts contains {"builder": input.tab.editor.codev.id}
_facts contains {"workspaces": input.shown.workspaces}
