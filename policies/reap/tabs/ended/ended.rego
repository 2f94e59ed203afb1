# METADATA
# title: Ended tab of an editor
# description: A terminal tab of an editor that was opened for an agent, and whose process has ended.
# custom:
#   candidates: [editor_tabs]
#   needs: [vscode]
#   waits: [rules.confirm_after]
#   parameters: [rules.agents, rules.editor_names]
package policies.reap.tabs.ended

import data.policies.lib.names
import data.policies.lib.reasons
import data.policies.lib.tabs

# The tab was opened with a process for an agent, by a marker, its program or the name that it was opened with.
in_scope if {
	tabs.of_process
	_for_agent
}

_for_agent if count(input.tab.editor.markers) > 0
_for_agent if input.tab.editor.program in input.config.agents
_for_agent if names.listed(input.tab.editor.creation_name, "editor_names")

findings contains {
	"message": $"its process ({input.tab.editor.pid}) has ended", "evidence": reasons.evidence(_facts),
} if {
	in_scope
	tabs.ended
}

_facts contains {name: input.tab.editor[name] | some name in {"creation_name", "program", "markers", "typed"}}
_facts contains {"live_on": {member.name | some member in input.tab.editor.session}}
