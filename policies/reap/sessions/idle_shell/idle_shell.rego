# METADATA
# title: Idle shells of a session
# description: A tmux session in which every pane is back at its own idle shell.
# custom:
#   needs: [tmux, named_sessions]
#   waits: [rules.grace.session, rules.confirm_after]
#   parameters: [rules.session_names, rules.shells, rules.prompt_daemons]
package policies.reap.sessions.idle_shell

import data.policies.lib.panes
import data.policies.lib.sessions

# The session's name is listed, or a registry entry names it.
in_scope if sessions.recorded
in_scope if sessions.named

findings contains {"message": "every pane of it is back at its own idle shell", "evidence": panes.evidence} if {
	in_scope
	panes.all_idle
}
