package policies.protect.live

import data.policies.lib.panes
import data.policies.lib.reasons
import data.policies.lib.shells
import data.policies.lib.tabs

objections contains reasons.keep(((_in_panes | _agents) | shells.restless), _pane_unknown, _panes) if {
	input.kind == "tab"
	not tabs.editor
	not _idle_panes
}

objections contains reasons.keep(_in_tab, "whether what it was opened for has ended is not known", _tab) if {
	input.kind == "tab"
	tabs.editor
	not _tab_ended
}

_pane_unknown := "what runs in one of its panes, or whether an agent does, is not known"

# Processes are the truth, and herdr's word for an agent can lie; but it sees some that hide behind a shell's name.
_idle_panes if {
	panes.all_listed
	panes.all_idle
	panes.no_agents
}

_agents contains $"herdr says of the agent in one of its panes: {pane.agent_status}" if {
	some pane in input.tab.panes
	pane.agent_status != ""
	not pane.agent_status in input.config.agent_idle
}

# A tab of an editor is in use while its process lives, and one that an extension draws while its builder is there.
_tab_ended if tabs.ended
_tab_ended if tabs.ownerless

_in_tab contains $"its process ({input.tab.editor.pid}) lives" if input.shown.ended == false
_in_tab contains $"its builder {input.tab.editor.codev.id} is on record" if input.shown.recorded == true
_in_tab contains $"the worktree of its builder {input.tab.editor.codev.id} is there" if input.shown.worktree == true

_tab contains {"pid": input.tab.editor.pid}
_tab contains {"workspaces": input.shown.workspaces}
