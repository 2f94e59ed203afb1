# METADATA
# title: Husk of a shellper
# description: A Codev shellper that neither its Tower nor its store knows, and below which nothing lives.
# custom:
#   needs: [codev]
#   waits: [rules.grace.terminal, rules.confirm_after]
#   parameters: [rules.grace.shellper]
package policies.reap.terminals.husk

import data.policies.lib.terminals

# The terminal is a shellper that neither its Tower nor its store knows.
in_scope if {
	input.kind == "terminal"
	input.terminal.role_kind == "shellper"
}

findings contains {
	"message": "neither its Tower nor its store knows it, and nothing lives below it",
	"evidence": {"pid": input.terminal.pid, "age": input.age},
} if {
	in_scope
	input.terminal.listed == false
	input.terminal.recorded == false
	input.terminal.scoped == true
	terminals.childless
	input.age >= input.config.grace.shellper
}
