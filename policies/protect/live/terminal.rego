package policies.protect.live

import data.policies.lib.reasons
import data.policies.lib.shells
import data.policies.lib.terminals

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
