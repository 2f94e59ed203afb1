# METADATA
# title: Not known
# description: Keeps what rests on something that could not be read.
# custom:
#   kinds: all
#   summary: {rank: 130, group: not fully known}
#   parameters: [rules.recorded_folders]
package policies.protect.unknown

import data.policies.lib.levels
import data.policies.lib.panes
import data.policies.lib.reasons
import data.policies.lib.sessions
import data.policies.lib.tabs
import data.policies.lib.terminals

# METADATA
# title: A source was not read whole
# description: A source that the candidate or evidence about it rests on is not ok.
objections contains {
	"message": $"{name} could not be read: {status}", "evidence": {"source": name, "status": status},
} if {
	some name, status in input.evidence_sources
	status != "ok"
	not name in _serverless
}

# METADATA
# title: It or its source is not known
# description: Its source, the processes or the ledger were not read whole, or its identity for a later look.
objections contains {
	"message": $"{concat(" and ", _missing)} could not be read whole",
	"evidence": {name: input.source[fact] | some fact, name in {"name": "source", "status": "status"}},
} if count(_missing) > 0

# METADATA
# title: A process was read in part
# description: No rule about processes names such a process in its METADATA (custom.candidates), so little was read.
objections contains {"message": _unnamed, "evidence": {"partial": true}} if input.process.partial

# METADATA
# title: The levels of the rules are not known
# description: Which rules are off, or only observe, is missing from the input.
objections contains {"message": _levels_unknown, "evidence": {}} if not levels.known

# METADATA
# title: The records of its folder were not read
# description: The folder lies where an orchestrator keeps its worktrees, and not all of its records were read.
objections contains {
	"message": $"it lies where {folder.format} keeps its worktrees, and the records of {folder.format} were not read",
	"evidence": folder,
} if {
	input.kind == "dir"
	some place, folder in input.config.recorded_folders
	not place in _accounted
}

objections contains reasons.keep(_pane_errors, "what runs in one of its panes could not be read", _panes) if {
	input.kind == "tab"
	not tabs.editor
	not panes.all_read
}

objections contains reasons.keep(_tab_errors, _tab_unread, _tab) if {
	input.kind == "tab"
	tabs.editor
	not tabs.read
}

objections contains reasons.keep(_session_errors, "not all of the session could be read", {}) if {
	input.kind == "session"
	not sessions.read
}

objections contains reasons.keep(_terminal_errors, _terminal_unread, _terminal) if {
	input.kind == "terminal"
	not terminals.read
}

_unnamed := $"it was read in part only, because {_partial}: take candidates out of the rule that found it"
_partial := "no rule names such a process in its METADATA (candidates)"
_levels_unknown := "which rules are turned off is not known (rules.levels)"

# The folder is not of that name, and lies in none.
_accounted contains place if {
	input.dir.path != ""
	some place, folder in input.config.recorded_folders
	contains(concat("", [input.dir.path, "/"]), concat("", ["/", folder.name, "/"])) == false
}

_accounted contains place if {
	some place, folder in input.config.recorded_folders
	every records in ["spawns", "registry"] { concat(":", [records, folder.format]) in input.records_read }
}

_missing contains "its source" if not input.source.status == "ok"
_missing contains "the list of processes" if not input.evidence_sources.proc == "ok"
_missing contains "the ledger" if not input.evidence_sources.ledger == "ok"
_missing contains "its identity" if not _identified
_identified if input.identity != ""

# Then the objection of its own says so.
_identified if input.process.partial

_serverless contains name if {
	some name, status in input.evidence_sources
	status == "absent"
	strings.any_prefix_match(name, ["tmux/", "herdr/"])
}

_pane_errors contains $"what runs in the pane {pane.id} could not be read: {pane.error}" if {
	some pane in input.tab.panes
	pane.error != ""
}

_tab_errors contains $"not all of the tab could be read: {input.tab.editor.error}" if input.tab.editor.error != ""

_tab_errors contains $"the window has no workspace of Codev's open, so where its builder would be is not known" if {
	tabs.drawn
	input.tab.editor.error == ""
	input.tab.editor.codev.key != ""
	not input.shown.workspaces
}

_tab_unread := "whether its process, or what it shows, has ended could not be read"
_session_errors contains $"not all of the session could be read: {input.session.error}" if input.session.error != ""
_terminal_errors contains $"not all of the terminal could be read: {input.terminal.error}" if input.terminal.error != ""
_terminal_unread := "whether its Tower lists it, which process is its own or what lives below that could not be read"
_terminal contains {name: input.terminal[name] | some name in {"listed", "pid"}}
_tab contains {"pid": input.tab.editor.pid}
_tab contains {"workspaces": input.shown.workspaces}
_panes contains {"pane_count": input.tab.pane_count}
_panes contains {"panes": [pane.id | some pane in input.tab.panes]}
_panes contains {"read": panes.read}
