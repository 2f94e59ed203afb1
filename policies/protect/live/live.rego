# METADATA
# title: Live
# description: Keeps what is in use.
# custom:
#   kinds: all
#   summary: [{rank: 40, group: in use, evidence: [holders]}, {rank: 41, group: in use}]
#   needs: [holders]
#   parameters: [rules.spare_listeners, rules.own_sockets, rules.confirm_busy_after,
#     "rules.interpreters, rules.families", rules.agent_idle, rules.agents, "rules.agent_scripts, rules.agent_packages",
#     rules.session_agents, rules.agent_daemons, "rules.shells, rules.prompt_daemons",
#     "rules.personal_daemons, rules.agent_daemons", "rules.never_processes, rules.multiplexers", rules.session_idle,
#     rules.terminal_idle, rules.opaque_processes]
package policies.protect.live

import data.policies.lib.leftovers
import data.policies.lib.levels
import data.policies.lib.names
import data.policies.lib.panes
import data.policies.lib.processes
import data.policies.lib.provenance
import data.policies.lib.reasons
import data.policies.lib.sessions
import data.policies.lib.shells
import data.policies.lib.tabs
import data.policies.lib.terminals

objections contains reasons.keep_first([_users, _users_unknown], _holders_unread, _holders) if {
	input.kind == "dir"
	not _no_holders
	not _holders_skipped
}

objections contains reasons.keep_first([_leads, _leads_unread], _leads_unknown, _pointers) if {
	input.kind == "dir"
	_no_holders
	not _no_leads
}

objections contains reasons.keep(_open_sessions, _open_unknown, _agents_open) if {
	input.kind == "dir"
	not _no_sessions
}

objections contains reasons.keep_first([_reasons, _peers_unknown], _process_unknown, _facts) if {
	input.kind == "process"
	not _detached
}

objections contains reasons.keep(_tied, _ties_unknown, _ties) if {
	input.kind == "process"
	not leftovers.loose
}

objections contains reasons.keep(_in_panes | shells.restless, "what runs in one of its panes is not known", _panes) if {
	input.kind == "session"
	not panes.all_quiet
}

objections contains reasons.keep(_popups, "whether a popup or a job of it runs is not known", _jobs) if {
	input.kind == "session"
	not sessions.no_popups
}

objections contains reasons.keep(((_in_panes | _agents) | shells.restless), _pane_unknown, _panes) if {
	input.kind == "tab"
	not tabs.editor
	not _idle_panes
}

objections contains reasons.keep(_in_tab, "whether what it was opened for has ended is not known", _tab) if {
	input.kind == "tab"
	tabs.editor
	not _tab_ended
}

objections contains reasons.keep(_at_work, "whether anything runs in it is not known", _terminal) if {
	input.kind == "terminal"
	not _finished
}

_holders_unread := "whether a process uses it is unknown: not every process could be read"
_leads_unknown := "what leads into it from outside is not known"
_open_unknown := "whether an agent has a session open that works in it is not known"
_process_unread := "and whether a process of it lives is not known"
_homeless := "has a session open, and in which worktree it works is not known: it may be this one"
_holders contains {"holders": [holder | some holder in input.holders]}
_pointers contains {"pointers": [pointer | some pointer in input.dir.pointers]}
_agents_open contains {"open": {session.agent | some session in input.open}}
_users contains $"{holder.name} ({holder.pid}) uses it" if some holder in input.holders

_no_holders if {
	input.dir.holders_known == true
	count(input.holders) == 0
}

# Who uses a folder that something cheaper keeps was not asked. Then protect.unsaved objects, unless it is off.
_holders_skipped if {
	input.dir.skipped != ""
	not input.dir.content
	not _holders_asked
	not "protect.unsaved" in levels.off
	count([holder | some holder in input.holders]) == 0
}

_holders_asked if is_boolean(input.dir.holders_known)

_users_unknown contains $"it lies on a mount {_shared}; run winnow on the host, where they are seen" if {
	input.dir.shared_outside == true
}

_users_unknown contains $"who uses it was not asked, because {input.dir.skipped}" if {
	input.dir.skipped != ""
	not _holders_asked
}

_shared := "that processes outside of this container may use, and those are not seen from here"
_no_leads if count(input.dir.pointers) == 0

_leads contains $"{lead} {pointer.path}" if {
	some pointer in input.dir.pointers
	lead := _kinds[pointer.kind]
}

_leads contains $"another folder is a checkout of the same entry, such as a copy: {pointer.path}" if {
	input.dir.checkout == true
	some pointer in input.dir.pointers
	pointer.kind == "checkout"
}

_leads contains $"it was moved by hand to {pointer.path}; {repair} mends its entry" if {
	input.dir.gone == true
	some pointer in input.dir.pointers
	pointer.kind == "checkout"
	repair := $"git -C {reasons.shell(input.dir.git.common_dir)} worktree repair {reasons.shell(pointer.path)}"
}

_leads_unread contains $"{_leads_unknown}: {input.dir.error}" if input.dir.error != ""

_kinds := {
	"link": "a link leads into it:", "install": "an editable install of Python leads into it:",
	"unit": "a unit of systemd names it:", "cron": "a crontab names it:",
	"git": "git's configuration leads into it:", "hook": "a git hook names it:",
	"script": "a program names it:", "shell": "what a shell reads when it starts names it:",
}

_no_sessions if count(input.open) == 0

_open_sessions contains $"{session.agent} has a session open that works in it, by its own record" if {
	some session in input.open
	session.folder != ""
	not session.any_process
}

_open_sessions contains $"{session.agent} worked in it, by its own record, {since}" if {
	some session in input.open
	session.folder != ""
	session.any_process
	session.pid > 0
	since := $"after its process {session.pid} began: the session counts as open until that process ends"
}

_open_sessions contains $"{session.agent} worked in it, by its own record, {_process_unread}" if {
	some session in input.open
	session.folder != ""
	session.any_process
	not session.pid
}

_open_sessions contains $"{agent} ({pid}) {_homeless}. End that session, or start one whose record can be read" if {
	some agent in {session.agent | some session in _nowhere}
	pid := min({session.pid | some session in _nowhere; session.agent == agent}) # there may be hundreds
}

_open_sessions contains $"{session.agent} {_homeless}" if {
	some session in input.open
	not session.folder
	not session.pid
}

_nowhere contains session if {
	some session in input.open
	not session.folder
	session.pid > 0
}

_process_unknown := "whether it is an agent, has a terminal or listens, or one below it, is not known"
_ties_unknown := "whether it was meant to go on, is connected to anything or writes a file is not known"
_ties contains {name: input.lineage[name] | some name in {"intent", "connections", "writes_files", "output"}}

# A server that an agent left behind in a pane has that pane's terminal, and no program in it can speak with it.
_detached if {
	leftovers.alone
	_no_listener
	_no_peers
}

# A process whose session is known and that no pane claims has no pane: else protect.unknown objects.
_detached if {
	input.process.tty == ""
	input.process.state != ""
	input.process.session >= 0
	_no_agent
	_no_agent_below
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

_no_peers if processes.ownerless_runaway
_no_agent if processes.harmless
_no_agent if provenance.unneeded
_no_agent_below if input.lineage.agent_below == false

_no_agent_below if {
	input.lineage.agent_named_below == false
	processes.ownerless_runaway
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

_no_listener if {
	processes.no_listener
	input.lineage.listener_below == false
}

_no_listener if input.config.spare_listeners == false

_no_listener if provenance.leaked

_reasons contains $"it is a daemon that its vendor runs for all of its agents ({daemon}), which no rule ends" if {
	daemon := input.process.daemon
	daemon != ""
}

_reasons contains "it is an agent" if processes.agent == true

_reasons contains $"its work is over, by its record: {replace(words.close, "ID", reasons.shell(entry.id))} ends it" if {
	some words in input.config.over_statuses
	words.close != ""
	some entry in input.entries
	entry.by == "pid"
	entry.terminal == true
	startswith(entry.source, concat("/", ["registry", words.format]))
}

_reasons contains "it has a terminal" if input.process.tty != ""
_reasons contains $"it belongs to the pane {input.lineage.pane}" if input.lineage.pane != ""
_reasons contains $"{input.lineage.interpreter} runs {_unidentified}" if input.lineage.unidentified == true
_reasons contains $"an interpreter below it runs {_unidentified}" if input.lineage.unidentified_below == true
_reasons contains "an agent runs below it" if input.lineage.agent_below == true
_reasons contains "a process below it has a terminal" if input.lineage.tty_below == true

_reasons contains $"{peer.name} ({peer.pid}) speaks with it: {_end}" if {
	some peer in input.lineage.peers
	not _no_peers
}

_reasons contains listens if {
	some listens in _listens
	not _no_listener
}

_reasons contains $"a process below it, which would end with it, must stay: {_must_stay}" if {
	count(input.lineage.below) > 0
	not _alone_or_ordinary
}

_reasons contains $"{input.lineage.descendants} processes are below it, more than end with one" if {
	input.lineage.descendants > 0
	not input.lineage.below
}

_unidentified := "a program that Winnow does not know: it may be an agent (if not, name it in rules.families)"
_end := "it has the other end of its input, of its output or of another descriptor"
_listens contains "it listens on a port" if count(input.process.listening) > 0
_listens contains "it listens on a unix socket" if count(input.lineage.sockets) > 0
_listens contains "a process below it listens on a port or on a unix socket" if input.lineage.listener_below == true
_must_stay := "it is never reaped, protected, held, another owner's, or people use it too"

_peers_unknown contains reasons.or_default(_open, $"whether a program still speaks with it, {_over}, is not known") if {
	count(input.lineage.below) >= 0
	not input.lineage.peers
	not _no_peers
}

_over := "over its standard input or output or another descriptor"

_open contains "another process has its standard input open, or something waits to be read there" if {
	input.process.input_ended == false
}

_open contains "another process reads what it prints" if input.process.output_read == true

_tied contains $"{_it} was meant to outlive what started it ({why}); end it yourself when it is no longer wanted" if {
	why := concat("; ", {said | some shown, said in _intents; shown in input.lineage.intent})
	why != ""
}

_tied contains $"{_it} has open connections ({input.lineage.connections})" if input.lineage.connections > 0
_tied contains $"{_it} wrote to a file {_lately}" if input.lineage.output < input.config.confirm_busy_after
_lately := reasons.too_short(input.lineage.output, input.config.confirm_busy_after)
_it := "it, or a process below it,"

_intents := {
	"hangup": "it ignores SIGHUP, as after nohup", "nohup": "nohup started it",
	"systemd-run": "systemd-run started it", "at": "at started it",
	"multiplexer": "a terminal multiplexer started it",
}

_facts contains {"tty": input.process.tty}
_facts contains {"ports": input.process.listening}
_facts contains {"sockets": input.lineage.sockets}
_popups contains "a popup or a job of it runs" if count(input.session.popups) > 0
_jobs contains {"running": {member.name | some member in input.session.popups}}

_panes contains {
	"running": {member.name | some pane in panes.present; some member in pane.foreground},
	"background": panes.background, "elsewhere": panes.elsewhere, "scripts": panes.scripts,
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

_pane_unknown := "what runs in one of its panes, or whether an agent does, is not known"

# Processes are the truth, and herdr's word for an agent can lie; but it sees some that hide behind a shell's name.
_idle_panes if {
	panes.all_listed
	panes.all_idle
	panes.no_agents
}

_agents contains $"herdr says of the agent in one of its panes: {pane.agent_status}" if {
	some pane in input.tab.panes
	pane.agent_status != ""
	not pane.agent_status in input.config.agent_idle
}

# A tab of an editor is in use while its process lives, and one that an extension draws while its builder is there.
_tab_ended if tabs.ended
_tab_ended if tabs.ownerless
_in_tab contains $"its process ({input.tab.editor.pid}) lives" if input.shown.ended == false
_in_tab contains $"its builder {input.tab.editor.codev.id} is on record" if input.shown.recorded == true
_in_tab contains $"the worktree of its builder {input.tab.editor.codev.id} is there" if input.shown.worktree == true
_tab contains {"pid": input.tab.editor.pid}
_tab contains {"workspaces": input.shown.workspaces}

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
