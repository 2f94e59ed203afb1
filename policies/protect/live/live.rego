# METADATA
# title: Live
# description: Keeps what is in use.
# custom:
#   kinds: all
#   summary: [{rank: 40, group: in use, evidence: [holders]}, {rank: 41, group: in use}]
#   needs: [holders]
#   parameters:
#     rules.spare_listeners: "keep a process that listens on a port or a unix socket, and one with such a child"
#     rules.own_sockets: "unix sockets that a program makes for itself alone"
#     rules.confirm_busy_after: "for how long no file that it has open for writing may have changed"
#     rules.interpreters, rules.families: "programs that run others, and what those may positively be"
#     rules.agent_idle: "herdr's words for a pane in which it knows of no agent"
#     rules.agents: "never reaped, by name or by what they were started from"
#     rules.agent_scripts, rules.agent_packages: "the same, by what an interpreter runs"
#     rules.session_agents: "agents whose records of their sessions are read"
#     rules.agent_daemons: "what vendors leave running for all of their agents: ended by no rule, and no user of the folder that it was started in"
#     rules.shells, rules.prompt_daemons: "what an idle pane may hold: a shell that waits for a person, and what draws its prompt"
#     rules.personal_daemons, rules.agent_daemons: "what lives on by design, whoever began it"
#     rules.never_processes, rules.multiplexers: "what must not end with a process that it is below"
#     rules.session_idle: "for how long a shell must not have run, where it ran by itself"
#     rules.terminal_idle: "how long what may be an agent must have printed nothing, in the terminal of a builder that is gone"
#     rules.opaque_processes: "processes that hide what they use, and are not taken for users of a folder"
package policies.protect.live

import data.policies.lib.leftovers
import data.policies.lib.levels
import data.policies.lib.names
import data.policies.lib.panes
import data.policies.lib.processes
import data.policies.lib.provenance
import data.policies.lib.reasons
import data.policies.lib.registry
import data.policies.lib.sessions
import data.policies.lib.shells
import data.policies.lib.tabs
import data.policies.lib.terminals
import data.policies.lib.ties

# METADATA
# title: It is in use
# description: Something alive uses the candidate, or whether anything does is not known.
# scope: document
objections contains {
	"rule": "protect.live",
	"message": reasons.or_default(_users, reasons.or_default(_holders_unknown, "whether a process uses it is unknown: not every process could be read")),
	"evidence": {"holders": [holder | some holder in input.holders]},
} if {
	input.kind == "dir"
	not _no_holders
	not _holders_skipped
}

objections contains {
	"rule": "protect.live",
	"message": reasons.or_default(_pointed, reasons.or_default(_pointers_unknown, "what leads into it from outside is not known")),
	"evidence": {"pointers": [pointer | some pointer in input.dir.pointers]},
} if {
	input.kind == "dir"
	_no_holders
	not _no_pointers
}

objections contains {
	"rule": "protect.live",
	"message": reasons.or_default(_sessions, "whether an agent has a session open that works in it is not known"),
	"evidence": {"open": {session.agent | some session in input.open}},
} if {
	input.kind == "dir"
	not _closed
}

objections contains {
	"rule": "protect.live",
	"message": reasons.or_default(_in_panes | shells.restless, "what runs in one of its panes is not known"),
	"evidence": _panes,
} if {
	input.kind == "session"
	not panes.all_quiet
}

objections contains {
	"rule": "protect.live",
	"message": reasons.or_default(_popups, "whether a popup or a job of it runs is not known"),
	"evidence": {"running": {member.name | some member in input.session.popups}},
} if {
	input.kind == "session"
	not sessions.no_popups
}

objections contains {
	"rule": "protect.live",
	"message": reasons.or_default(_reasons, reasons.or_default(_peers_unknown, "whether it is an agent, has a terminal or listens, or one below it, is not known")),
	"evidence": reasons.evidence(_facts),
} if {
	input.kind == "process"
	not _detached
}

objections contains {
	"rule": "protect.live",
	"message": reasons.or_default(_ties, "whether it was meant to go on, is connected to anything or writes a file is not known"),
	"evidence": reasons.evidence(_tied),
} if {
	input.kind == "process"
	not ties.loose
}

objections contains {
	"rule": "protect.live",
	"message": reasons.or_default(((_in_panes | _agents) | shells.restless), "what runs in one of its panes, or whether an agent does, is not known"),
	"evidence": _panes,
} if {
	input.kind == "tab"
	not tabs.editor
	not _idle_panes
}

objections contains {
	"rule": "protect.live",
	"message": reasons.or_default(_in_tab, "whether what it was opened for has ended is not known"),
	"evidence": reasons.evidence(_tab),
} if {
	input.kind == "tab"
	tabs.editor
	not _tab_ended
}

objections contains {
	"rule": "protect.live",
	"message": reasons.or_default(_at_work, "whether anything runs in it is not known"),
	"evidence": reasons.evidence(_terminal),
} if {
	input.kind == "terminal"
	not _finished
}

_closed if count(input.open) == 0

_sessions contains $"{session.agent} has a session open that works in it, by its own record" if {
	some session in input.open
	session.folder != ""
	not session.any_process
}

_sessions contains $"{session.agent} worked in it, by its own record, after its process {session.pid} began: the session counts as open until that process ends" if {
	some session in input.open
	session.folder != ""
	session.any_process
	session.pid > 0
}

_sessions contains $"{session.agent} worked in it, by its own record, and whether a process of it lives is not known" if {
	some session in input.open
	session.folder != ""
	session.any_process
	not session.pid
}

_sessions contains $"{agent} ({pid}) has a session open, and in which worktree it works is not known: it may be this one. End that session, or start one whose record can be read" if {
	some agent in {session.agent | some session in _homeless}
	pid := min({session.pid | some session in _homeless; session.agent == agent}) # there may be hundreds
}

_sessions contains $"{session.agent} has a session open, and in which worktree it works is not known: it may be this one" if {
	some session in input.open
	not session.folder
	not session.pid
}

_homeless contains session if {
	some session in input.open
	not session.folder
	session.pid > 0
}

_users contains $"{holder.name} ({holder.pid}) uses it" if some holder in input.holders

_no_pointers if count(input.dir.pointers) == 0

_pointed contains $"{what} {pointer.path}" if {
	some pointer in input.dir.pointers
	what := _leads[pointer.kind]
}

_pointed contains $"another folder is a checkout of the same entry, such as a copy: {pointer.path}" if {
	input.dir.checkout == true
	some pointer in input.dir.pointers
	pointer.kind == "checkout"
}

_pointed contains $"it was moved by hand to {pointer.path}; git -C {input.dir.git.common_dir} worktree repair {pointer.path} mends its entry" if {
	input.dir.gone == true
	some pointer in input.dir.pointers
	pointer.kind == "checkout"
}

_leads := {
	"link": "a link leads into it:",
	"install": "an editable install of Python leads into it:",
	"unit": "a unit of systemd names it:",
	"cron": "a crontab names it:",
	"git": "git's configuration leads into it:",
	"hook": "a git hook names it:",
	"script": "a program names it:",
	"shell": "what a shell reads when it starts names it:",
}

_pointers_unknown contains $"what leads into it from outside is not known: {input.dir.error}" if input.dir.error != ""

_panes := {
	"running": {member.name | some pane in panes.present; some member in pane.foreground},
	"background": panes.background,
	"elsewhere": panes.elsewhere,
	"scripts": panes.scripts,
}

_in_panes contains $"what was started in one of its panes runs on elsewhere: {concat(", ", panes.elsewhere)}" if count(panes.elsewhere) > 0

_in_panes contains $"something runs behind the shell of one of its panes: {concat(", ", panes.background)}" if count(panes.background) > 0

_in_panes contains $"a shell in one of its panes runs a script or a command, or waits for more than a person: {concat(", ", panes.scripts)}" if count(panes.scripts) > 0

_in_panes contains $"something runs in one of its panes: {concat(", ", _in_front)}" if count(_in_front) > 0

_in_front contains member.name if {
	some pane in panes.present
	some member in pane.foreground
	not member.name in input.config.shells
}

_agents contains $"herdr says of the agent in one of its panes: {pane.agent_status}" if {
	some pane in input.tab.panes
	pane.agent_status != ""
	not pane.agent_status in input.config.agent_idle
}

# For every reason to reap, the facts that make a terminal safe are checked again here.
_finished if terminals.exited

_finished if {
	input.terminal.role_kind == "shellper"
	terminals.childless
}

_finished if terminals.no_work

_at_work contains $"something runs in it: {concat(", ", _below)}" if count(_below) > 0

_at_work contains $"it printed something {reasons.span(input.idle)} ago; at least {reasons.span(input.config.terminal_idle)} is required" if {
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

# Processes are the truth, and herdr's word for an agent can lie; but it sees some that hide behind a shell's name.
_idle_panes if {
	panes.all_listed
	panes.all_idle
	panes.no_agents
}

# A tab of an editor is in use while its process lives, and one that an extension draws while its builder is there.
_tab_ended if tabs.ended

_tab_ended if tabs.ownerless

_in_tab contains $"its process ({input.tab.editor.pid}) lives" if input.shown.ended == false

_in_tab contains $"its builder {input.tab.editor.codev.id} is on record" if input.shown.recorded == true

_in_tab contains $"the worktree of its builder {input.tab.editor.codev.id} is there" if input.shown.worktree == true

_tab contains {"pid": input.tab.editor.pid}

_tab contains {"workspaces": input.shown.workspaces}

_no_holders if {
	input.dir.holders_known == true
	count(input.holders) == 0
}

# Something cheaper keeps the folder, so that it was not asked who uses it. protect.unsaved says so of every such folder, unless it is off; of what can be made again
# in a worktree it does not. A process that is known to use it without asking counts all the same.
_holders_skipped if {
	input.dir.skipped != ""
	not input.dir.content
	not _holders_asked
	not "protect.unsaved" in levels.off
	count([holder | some holder in input.holders]) == 0
}

_holders_asked if is_boolean(input.dir.holders_known)

_holders_unknown contains "it lies on a mount that processes outside of this container may use, and those are not seen from here; run winnow on the host, where they are seen" if {
	input.dir.shared_outside == true
}

_holders_unknown contains $"who uses it was not asked, because {input.dir.skipped}" if {
	input.dir.skipped != ""
	not _holders_asked
}

# A server that an agent left behind in a pane has that pane's terminal, and no program in it can speak with it.
_detached if {
	leftovers.alone
	_no_listener
	_no_peers
}

# A process whose session is known and that no pane claims has no pane at all: the panes' sources were read, or protect.unknown
# objects.
_detached if {
	input.process.tty == ""
	input.process.state != ""
	input.process.session >= 0
	_no_agent
	input.lineage.agent_below == false
	input.lineage.tty_below == false
	input.lineage.pane == ""
	_no_listener
	_no_peers
	_alone_or_ordinary
}

_no_peers if processes.no_peers

# It is asked of what was handed over. Only rules of one's own, and the one about runaways, are about anything else.
_no_peers if {
	handed := input.process.ppid in input.host.orphan_parents
	handed == false
}

_no_peers if _runaway

_no_agent if processes.agent == false

# What an interpreter runs is not known; but whoever it worked for is positively over, and no agent that waits for its model is busy all
# its life.
_no_agent if {
	processes.program
	_runaway
}

_runaway if {
	processes.busy
	processes.own_markers
	registry.marked_over
}

# What is below a process ends with it. Counted, because a misspelt field is refused in a set and not in an every.
_alone_or_ordinary if count(_ordinary) == count(input.lineage.below)

_ordinary contains place if {
	some place, below in input.lineage.below
	below.uid == input.host.uid
	below.personal == ""
	below.own == true
	multiplexer := below.name in input.config.multiplexers
	multiplexer == false
	names.endable(below.name)
	below.held == false
	below.id != ""
	names.unprotected(below.id)
	names.unprotected(below.name)
}

_popups contains "a popup or a job of it runs" if count(input.session.popups) > 0

_no_listener if {
	processes.no_listener
	input.lineage.listener_below == false
}

_no_listener if input.config.spare_listeners == false

# Its agent, its folder and its clients are gone.
_no_listener if provenance.leaked

_reasons contains $"it is a daemon that its vendor runs for all of its agents ({input.process.daemon}), which no rule ends" if input.process.daemon != ""

_reasons contains "it is an agent" if processes.agent == true

_reasons contains "it has a terminal" if input.process.tty != ""

_reasons contains $"it belongs to the pane {input.lineage.pane}" if input.lineage.pane != ""

_reasons contains $"{input.lineage.interpreter} runs an unknown program, which may be an agent (rules.families lists programs that are not)" if input.lineage.unidentified == true

_reasons contains "an agent runs below it" if input.lineage.agent_below == true

_reasons contains "a process below it has a terminal" if input.lineage.tty_below == true

_reasons contains "an interpreter below it runs an unknown program, which may be an agent (rules.families lists programs that are not)" if {
	input.lineage.unidentified_below == true
}

_reasons contains $"{peer.name} ({peer.pid}) speaks with it: it has the other end of its input, of its output or of another descriptor" if {
	some peer in input.lineage.peers
	not _no_peers
}

_reasons contains "it listens on a port" if {
	count(input.process.listening) > 0
	not _no_listener
}

_reasons contains "it listens on a unix socket" if {
	count(input.lineage.sockets) > 0
	not _no_listener
}

_reasons contains "a process below it listens on a port or on a unix socket" if {
	input.lineage.listener_below == true
	not _no_listener
}

_reasons contains "a process below it, which would end with it, must stay: it is never reaped, protected, held, another owner's, or people use it too" if {
	count(input.lineage.below) > 0
	not _alone_or_ordinary
}

_reasons contains $"{input.lineage.descendants} processes are below it, more than end with one" if {
	input.lineage.descendants > 0
	not input.lineage.below
}

_peers_unknown contains reasons.or_default(_open, "whether a program still speaks with it, over its standard input or output or another descriptor, is not known") if {
	count(input.lineage.below) >= 0
	not input.lineage.peers
	not _no_peers
}

_open contains "another process has its standard input open, or something waits to be read there" if input.process.input_ended == false

_open contains "another process reads what it prints" if input.process.output_read == true

_ties contains $"it, or a process below it, was meant to outlive what started it ({concat("; ", _intent)}); end it yourself when it is no longer wanted" if {
	count(_intent) > 0
}

_ties contains $"it, or a process below it, has open connections ({input.lineage.connections})" if input.lineage.connections > 0

_ties contains $"it, or a process below it, wrote to a file {reasons.span(input.lineage.output)} ago; at least {reasons.span(input.config.confirm_busy_after)} is required" if {
	input.lineage.output < input.config.confirm_busy_after
}

_intent contains why if {
	some shown in input.lineage.intent
	why := _why[shown]
}

_why := {
	"hangup": "it ignores SIGHUP, as after nohup",
	"nohup": "nohup started it",
	"systemd-run": "systemd-run started it",
	"at": "at started it",
	"multiplexer": "a terminal multiplexer started it",
}

_tied contains {"intent": input.lineage.intent}

_tied contains {"connections": input.lineage.connections}

_tied contains {"writes_files": input.lineage.writes_files}

_tied contains {"output": input.lineage.output}

_facts contains {"tty": input.process.tty}

_facts contains {"ports": input.process.listening}

_facts contains {"sockets": input.lineage.sockets}
