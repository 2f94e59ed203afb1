# METADATA
# title: Idle shells of a helper's tab
# description: A helper's herdr tab in which every pane is back at its own idle shell.
# custom:
#   candidates: [helper_labels]
#   needs: [herdr, rules.helper_labels]
#   waits: [rules.confirm_after]
#   parameters: [rules.helper_labels, rules.shells, rules.prompt_daemons]
package policies.reap.tabs.idle_shell

import data.policies.lib.names
import data.policies.lib.panes
import data.policies.lib.reasons

# The tab's label is a helper's. An empty word puts nothing in scope.
in_scope if names.listed(input.tab.label, "helper_labels")

findings contains {
	"message": "every pane of it is back at its own idle shell",
	"evidence": reasons.evidence({{"label": input.tab.label}, panes.evidence}),
} if {
	in_scope
	panes.all_listed
	panes.all_idle
}
