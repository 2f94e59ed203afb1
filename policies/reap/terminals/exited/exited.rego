# METADATA
# title: Terminal that has exited
# description: |-
#   A Codev terminal of a builder, or of its development server, that has exited and that the Tower keeps all the same.
#
#   In scope are terminals of builders and of their development servers. The Tower must list the terminal as exited, nothing may
#   live below its process (which stays to replay the end to whoever comes late), or it has none any more, and it must have printed
#   nothing for `terminal_idle`. Whether the builder is still on record does not matter.
# custom:
#   needs: [codev]
#   waits: [rules.grace.terminal, rules.confirm_after]
#   parameters:
#     rules.terminal_idle: "since the terminal last printed something"
#   why: |-
#     A Tower keeps the terminals that ended in its own lifetime, 100 of them at most, each with a process. Exited is not gone: the
#     process lingers (cluesmith/codev#905), so it is looked at and not guessed. Nothing is lost by closing one: what it showed stays
#     in Codev's own log. For a while it stays because somebody may be reading why it ended.
#   example: |-
#     The agent of `builder-bugfix-799` ended two hours ago:
#
#     ```
#     terminal:codev/default/cd6b3324-a081-4d61-8dfd-2808aa0676dd   reap   reap.terminals.exited: it has exited, nothing lives in it, and it has printed nothing for 25m
#     ```
#
#     With a `make` that it left running below it: no finding, and [protect.live](live.md) keeps it.
package policies.reap.terminals.exited

import data.policies.lib.terminals
import data.policies.lib.words

# METADATA
# title: In scope
# description: The terminal is a builder's or its development server's.
in_scope if terminals.of_builder

# METADATA
# title: It has exited
# description: The Tower lists the terminal as exited, nothing lives in it, and it has printed nothing for a while.
findings contains {
	"rule": "reap.terminals.exited",
	"message": $"it has exited, nothing lives in it, and it has printed nothing for {words.span(input.idle)}",
	"evidence": words.known(_facts),
} if {
	in_scope
	input.terminal.listed == true
	terminals.exited
	terminals.silent
}

_facts contains {"idle": input.idle}

_facts contains {"exit_code": input.terminal.exit_code}
