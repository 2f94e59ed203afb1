# METADATA
# title: Panes
# description: What is positively known of the processes in the panes of a session or a tab.
package policies.lib.panes

import data.policies.lib.leftovers
import data.policies.lib.shells

# The panes of the session or of the tab; undefined for anything else.
present := input.session.panes if input.kind == "session"
present := input.tab.panes if input.kind == "tab"

# The panes that hold their own shell at rest in the foreground, and else only a prompt's helpers or leftovers.
idle := [id | some id in _idle_here; not id in _busy_elsewhere]

# The panes that are kept although their process ended, and that no other process is known to live in or for.
dead := [id | some id in _dead_here; not id in _busy_elsewhere]

# The names of the processes that were started in a pane, run on outside of it and keep it, by the pane's id.
elsewhere contains found.member.name if some found in _elsewhere

# The names of the processes of the panes' own sessions that are not in front there and keep them: a job, a server.
background contains member.name if {
	some pane in present
	some member in pane.session
	member.pid != pane.shell_pid
	not member.pid in _in_front
	not _bystander(member.name, member.pid)
}

_in_front contains member.pid if {
	some pane in present
	some member in pane.foreground
}

# True when there is a pane and nothing is at work in any, so that only what runs elsewhere can keep them.
quiet_here if {
	count(present) > 0
	count(present) - count(_idle_here) == count(_dead_here)
}

# What was started in a pane and stays when that goes, by design: another multiplexer, a personal daemon.
live_on contains member.name if {
	some member in input.members
	member.how == "elsewhere"
	member.pid in _residents
}

# The names of the processes in the panes that are left over from an agent that is gone, and end with them.
taken_along contains member.name if {
	some member in input.members
	member.how == "session"
	member.pid in leftovers.pids
}

# The panes for evidence, with what ends with them and what does not.
evidence := {"panes": idle, "taken_along": taken_along, "live_on": live_on}

# What ends with the panes, and what does not.
fates := {"taken_along": taken_along, "live_on": live_on}
_busy_elsewhere contains found.pane if some found in _elsewhere

_elsewhere contains {"pane": pane.id, "member": member} if {
	some pane in present
	some member in pane.carriers
	not member.pid in _residents
}

# A multiplexer's server that was begun in the pane, and what is below such a one: it outlives the pane by design.
_residents contains member.pid if {
	some place, member in input.members
	member.how == "elsewhere"
	_lives_on(place)
}

_lives_on(place) if input.members[place].process.name in input.config.multiplexers
_lives_on(place) if input.members[place].process.daemon != ""

_lives_on(place) if {
	input.members[place].server > 0
	input.members[place].server != _server
}

_lives_on(place) if {
	input.members[place].lineage.is_agent == false
	input.members[place].lineage.personal != ""
}

_server := input.session.server.pid if input.kind == "session"
_server := input.source.server.pid if input.kind == "tab"
_idle_here := [pane.id |
	some pane in present
	pane.dead == false
	pane.foreground_pgid == pane.shell_pid
	count(pane.foreground) == 1
	pane.foreground[0].pid == pane.shell_pid
	pane.foreground[0].name in input.config.shells
	some shell in pane.session
	shell.pid == pane.shell_pid
	shell.interactive == true
	shell in shells.resting
	count(pane.session) == count(pane.session_pids)
	count(pane.session) - 1 == count([member |
		some member in pane.session
		member.pid != pane.shell_pid
		_bystander(member.name, member.pid)
	])
	count(pane.descendants) == 0
	count(pane.carriers) >= 0
]

# The panes whose first shell runs a script or a command, reads no terminal, or waits for more than a person.
scripts := [pane.id |
	some pane in present
	some shell in pane.session
	shell.pid == pane.shell_pid
	shell.interactive == false
]

_dead_here := [pane.id |
	some pane in present
	pane.dead == true
	count(pane.session_pids) == 0
	count(pane.session) == 0
	count(pane.descendants) == 0
	count(pane.carriers) >= 0
]

_bystander(name, _) if name in input.config.prompt_daemons
_bystander(_, pid) if pid in leftovers.pids

# The panes of a tab in which it is known what runs and whether an agent does: all of that was read.
read := [pane.id |
	some pane in input.tab.panes
	pane.shell_pid > 0
	pane.foreground_pgid != 0
	pane.foreground[0].pid > 0
	pane.session_pids[0] > 0
	pane.session[0].pid > 0
	pane.agent_status != ""
	pane.error == ""
]

# True when the tab has a pane, and of every pane its server says that it knows of no agent in it.
no_agents if {
	count(_without_agent) > 0
	count(_without_agent) == count(input.tab.panes)
}

_without_agent := [pane.id |
	some pane in input.tab.panes
	pane.agent_status in input.config.agent_idle
]

# True when there is a pane, and every pane is idle.
all_idle if {
	count(idle) > 0
	count(idle) == count(present)
}

# True when there is a pane, and every pane is idle or dead.
all_quiet if {
	count(present) > 0
	count(present) - count(idle) == count(dead)
}

# True when the tab's server counts a pane in it, and lists as many as it counts.
all_listed if {
	input.tab.pane_count > 0
	input.tab.pane_count == count(input.tab.panes)
}

# True when every pane of the tab is listed, and every one was read.
all_read if {
	all_listed
	count(read) == count(input.tab.panes)
}
