# METADATA
# title: Panes
# description: What is positively known of the processes in a session's panes.
package policies.lib.panes

# METADATA
# title: Idle panes
# description: >-
#   The panes that hold their own shell and nothing else: the shell is alive and in the foreground by itself, every process of
#   its session is it or a prompt's helper, and nothing that it started has left that session.
idle := [pane.id |
	some pane in input.session.panes
	pane.dead == false
	pane.foreground_pgid == pane.shell_pid
	count(pane.foreground) == 1
	pane.foreground[0].pid == pane.shell_pid
	pane.foreground[0].name in input.config.shells
	some shell in pane.session
	shell.pid == pane.shell_pid
	count(pane.session) == count(pane.session_pids)
	count(pane.session) - 1 == count([member |
		some member in pane.session
		member.pid != pane.shell_pid
		member.name in input.config.prompt_daemons
	])
	not pane.descendants[0]
]

# METADATA
# title: Dead panes
# description: The panes that are kept although their process ended, and that no other process is known to live in.
dead := [pane.id |
	some pane in input.session.panes
	pane.dead == true
	not pane.session_pids[0]
	not pane.session[0]
	not pane.descendants[0]
]

# METADATA
# title: All idle
# description: True when the session has a pane, and every pane of it is idle.
all_idle if {
	count(idle) > 0
	count(idle) == count(input.session.panes)
}

# METADATA
# title: All quiet
# description: True when the session has a pane, and every pane of it is idle or dead.
all_quiet if {
	count(input.session.panes) > 0
	count(input.session.panes) - count(idle) == count(dead)
}
