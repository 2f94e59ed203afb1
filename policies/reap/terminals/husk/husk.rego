# METADATA
# title: Husk of a shellper
# description: |-
#   A Codev shellper that neither its Tower nor its store knows, and below which nothing lives.
#
#   In scope are shellpers without a terminal. One is a husk when it is of this state folder by its own command line, the Tower was
#   asked and does not list it, the store was read and has no row for it, nothing lives below it, and it has run for
#   `grace.shellper`. With `0s` there is no grace. One whose start could not be read stays.
# custom:
#   needs: [codev]
#   waits: [rules.grace.terminal, rules.confirm_after]
#   parameters:
#     rules.grace.shellper: "since the shellper was started"
#   why: |-
#     Husks have eaten memory until the kernel ended other things (cluesmith/codev#1227). A shellper of another state folder is
#     another Codev's (cluesmith/codev#341). Having pid 1 for a parent proves nothing: once its Tower was started again every live
#     shellper has that.
#   example: |-
#     ```
#     terminal:codev/default/pid-6161   reap   reap.terminals.husk: neither its Tower nor its store knows it, and nothing lives below it
#     ```
#
#     With a shell below it: spared by [protect.live](live.md); `winnow explain` then says in whose worktree it was started. One that
#     an earlier look saw as a builder's, or as its development server's, is that terminal still, and no husk
#     ([reap.terminals.ownerless](terminal-ownerless.md)). While the Tower is down nobody can say that it is not listed, and it is in
#     no scope.
package policies.reap.terminals.husk

import data.policies.lib.terminals

# METADATA
# title: In scope
# description: The terminal is a shellper that neither its Tower nor its store knows.
in_scope if {
	input.kind == "terminal"
	input.terminal.role_kind == "shellper"
}

# METADATA
# title: Neither Tower nor store knows it, and nothing lives below it
# description: The shellper is of this state folder, neither listed nor on record, childless, and old enough.
findings contains {
	"rule": "reap.terminals.husk",
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
