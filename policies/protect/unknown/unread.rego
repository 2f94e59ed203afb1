package policies.protect.unknown

import data.policies.lib.panes
import data.policies.lib.reasons
import data.policies.lib.sessions
import data.policies.lib.tabs
import data.policies.lib.terminals

objections contains reasons.keep(_pane_errors, "what runs in one of its panes could not be read", _panes) if {
	input.kind == "tab"
	not tabs.editor
	not panes.all_read
}

objections contains reasons.keep(_tab_errors, _tab_unread, _tab) if {
	input.kind == "tab"
	tabs.editor
	not tabs.read
}

objections contains reasons.keep(_session_errors, "not all of the session could be read", {}) if {
	input.kind == "session"
	not sessions.read
}

objections contains reasons.keep(_terminal_errors, _terminal_unread, _terminal) if {
	input.kind == "terminal"
	not terminals.read
}

_pane_errors contains $"what runs in the pane {pane.id} could not be read: {pane.error}" if {
	some pane in input.tab.panes
	pane.error != ""
}

_tab_errors contains $"not all of the tab could be read: {input.tab.editor.error}" if input.tab.editor.error != ""

_tab_errors contains $"the window has no workspace of Codev's open, {_builder_unknown}" if {
	tabs.drawn
	input.tab.editor.error == ""
	input.tab.editor.codev.key != ""
	not input.shown.workspaces
}

_tab_unread := "whether its process, or what it shows, has ended could not be read"
_builder_unknown := "so where its builder would be is not known"

_session_errors contains $"not all of the session could be read: {input.session.error}" if input.session.error != ""
_terminal_errors contains $"not all of the terminal could be read: {input.terminal.error}" if input.terminal.error != ""
_terminal_unread := "whether its Tower lists it, which process is its own or what lives below that could not be read"

_terminal contains {name: input.terminal[name] | some name in {"listed", "pid"}}

_tab contains {"pid": input.tab.editor.pid}
_tab contains {"workspaces": input.shown.workspaces}

_panes contains {"pane_count": input.tab.pane_count}
_panes contains {"panes": [pane.id | some pane in input.tab.panes]}
_panes contains {"read": panes.read}
