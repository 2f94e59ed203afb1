# METADATA
# title: Panes
# description: What is positively known of the processes in the panes of a session or a tab.
package policies.lib.panes

# METADATA
# title: All panes
# description: The panes of the session or of the tab; undefined for anything else.
all := input.session.panes if input.kind == "session"

all := input.tab.panes if input.kind == "tab"

# METADATA
# title: Idle panes
# description: >-
#   The panes that hold their own shell and nothing else: the shell is alive and in the foreground by itself and takes commands from
#   a person, every process of its session is it or a prompt's helper, and nothing that it started has left that session.
idle := [pane.id |
	some pane in all
	pane.dead == false
	pane.foreground_pgid == pane.shell_pid
	count(pane.foreground) == 1
	pane.foreground[0].pid == pane.shell_pid
	pane.foreground[0].name in input.config.shells
	some shell in pane.session
	shell.pid == pane.shell_pid
	shell.interactive == true
	count(pane.session) == count(pane.session_pids)
	count(pane.session) - 1 == count([member |
		some member in pane.session
		member.pid != pane.shell_pid
		member.name in input.config.prompt_daemons
	])
	not pane.descendants[0]
]

# METADATA
# title: Panes with a script
# description: The panes whose first process is a shell that runs a script or a command, or reads something else than its terminal.
scripts := [pane.id |
	some pane in all
	some shell in pane.session
	shell.pid == pane.shell_pid
	shell.interactive == false
]

# METADATA
# title: Dead panes
# description: The panes that are kept although their process ended, and that no other process is known to live in.
dead := [pane.id |
	some pane in all
	pane.dead == true
	not pane.session_pids[0]
	not pane.session[0]
	not pane.descendants[0]
]

# METADATA
# title: Read panes
# description: >-
#   The panes of a tab of which it is known what runs in them and whether an agent does: every part of that was read, and nothing
#   about them failed to be.
read := [pane.id |
	some pane in input.tab.panes
	pane.shell_pid > 0
	pane.foreground_pgid != 0
	pane.foreground[0].pid > 0
	pane.session_pids[0] > 0
	pane.session[0].pid > 0
	pane.agent_status != ""
	not pane.error
]

# METADATA
# title: No agents
# description: True when the tab has a pane, and of every pane its server says that it knows of no agent in it.
no_agents if {
	count(_without_agent) > 0
	count(_without_agent) == count(input.tab.panes)
}

_without_agent := [pane.id |
	some pane in input.tab.panes
	pane.agent_status in input.config.agent_idle
]

# METADATA
# title: All idle
# description: True when there is a pane, and every pane is idle.
all_idle if {
	count(idle) > 0
	count(idle) == count(all)
}

# METADATA
# title: All quiet
# description: True when there is a pane, and every pane is idle or dead.
all_quiet if {
	count(all) > 0
	count(all) - count(idle) == count(dead)
}

# METADATA
# title: All listed
# description: True when the tab's server counts a pane in it, and lists as many as it counts.
all_listed if {
	input.tab.pane_count > 0
	input.tab.pane_count == count(input.tab.panes)
}

# METADATA
# title: All read
# description: True when every pane of the tab is listed, and every one was read.
all_read if {
	all_listed
	count(read) == count(input.tab.panes)
}
