# METADATA
# title: Shows what lives
# description: Keeps a tab of an editor that shows a terminal which has not ended.
# custom:
#   kinds: tab
#   summary: {rank: 85, group: waiting for what they show}
package policies.protect.showing

import data.policies.lib.reasons
import data.policies.lib.tabs

objections contains reasons.keep(_living, "whether a terminal that it shows lives is not known", _facts) if {
	input.kind == "tab"
	tabs.editor
	not tabs.shows_nothing
	not _alive
}

# What runs in the tab itself is for protect.live to say.
_alive if tabs.of_process

_living contains $"a terminal that it shows has not ended: {concat(", ", input.shown.sessions)}" if {
	count(input.shown.sessions) > 0
}

_facts contains {"sessions": [id | some id in input.shown.sessions]}
