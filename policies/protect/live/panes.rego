package policies.protect.live

import data.policies.lib.panes
import data.policies.lib.reasons
import data.policies.lib.sessions
import data.policies.lib.shells
import data.policies.lib.tabs
import data.policies.lib.terminals

objections contains reasons.keep(_in_panes | shells.restless, "what runs in one of its panes is not known", _panes) if {
	input.kind == "session"
	not panes.all_quiet
}

objections contains reasons.keep(_popups, "whether a popup or a job of it runs is not known", _jobs) if {
	input.kind == "session"
	not sessions.no_popups
}

_popups contains "a popup or a job of it runs" if count(input.session.popups) > 0
_jobs contains {"running": {member.name | some member in input.session.popups}}

_panes contains {
	"running": {member.name | some pane in panes.present; some member in pane.foreground},
	"background": panes.background,
	"elsewhere": panes.elsewhere,
	"scripts": panes.scripts,
}

_in_panes contains $"{what}: {concat(", ", found)}" if {
	some what, found in {
		"what was started in one of its panes runs on elsewhere": panes.elsewhere,
		"something runs behind the shell of one of its panes": panes.background,
		"a shell in one of its panes runs a script or a command, or waits for more than a person": panes.scripts,
		"something runs in one of its panes": _in_front,
	}
	count(found) > 0
}

_in_front contains member.name if {
	some pane in panes.present
	some member in pane.foreground
	not member.name in input.config.shells
}

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

objections contains reasons.keep(_at_work, "whether anything runs in it is not known", _terminal) if {
	input.kind == "terminal"
	not _finished
}

# For every reason to reap, the facts that make a terminal safe are checked again here.
_finished if terminals.exited

_finished if {
	input.terminal.role_kind == "shellper"
	terminals.childless
}

_finished if terminals.no_work
_at_work contains $"something runs in it: {concat(", ", _below)}" if count(_below) > 0

_at_work contains $"it printed something {reasons.too_short(input.idle, input.config.terminal_idle)}" if {
	terminals.ownerless
	count(_below) > 0
	input.idle < input.config.terminal_idle
}

_at_work contains why if {
	terminals.ownerless
	some why in shells.restless
}

_at_work contains "its Tower says that it runs" if {
	input.terminal.status == "running"
	terminals.childless
}

_below contains member.name if some member in input.terminal.below
_terminal contains {"running": _below}
_terminal contains {"idle": input.idle}
