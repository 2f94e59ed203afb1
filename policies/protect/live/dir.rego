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

import data.policies.lib.levels
import data.policies.lib.reasons

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

# Something cheaper keeps the folder, so who uses it was not asked: protect.unsaved objects, unless it is off or the
# folder is content. A process that is known to use it without asking counts all the same.
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

_leads contains $"another folder is a checkout of the same entry, such as a copy: {path}" if {
	input.dir.checkout == true
	some path in _checkouts
}

_leads contains $"it was moved by hand to {path}; {repair} mends its entry" if {
	input.dir.gone == true
	some path in _checkouts
	repair := $"git -C {reasons.shell(input.dir.git.common_dir)} worktree repair {reasons.shell(path)}"
}

_leads_unread contains $"{_leads_unknown}: {input.dir.error}" if input.dir.error != ""

_checkouts contains pointer.path if {
	some pointer in input.dir.pointers
	pointer.kind == "checkout"
}

_kinds := {
	"link": "a link leads into it:",
	"install": "an editable install of Python leads into it:",
	"unit": "a unit of systemd names it:",
	"cron": "a crontab names it:",
	"git": "git's configuration leads into it:",
	"hook": "a git hook names it:",
	"script": "a program names it:",
	"shell": "what a shell reads when it starts names it:",
}

_no_sessions if count(input.open) == 0

_open_sessions contains $"{session.agent} has a session open that works in it, by its own record" if {
	some session in _at_home
	not session.any_process
}

_open_sessions contains $"{session.agent} worked in it, by its own record, {since}" if {
	some session in _at_home
	session.any_process
	session.pid > 0
	since := $"after its process {session.pid} began: the session counts as open until that process ends"
}

_open_sessions contains $"{session.agent} worked in it, by its own record, {_process_unread}" if {
	some session in _at_home
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

_at_home contains session if {
	some session in input.open
	session.folder != ""
}
