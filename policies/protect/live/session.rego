package policies.protect.live

import data.policies.lib.panes
import data.policies.lib.reasons
import data.policies.lib.sessions
import data.policies.lib.shells

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
