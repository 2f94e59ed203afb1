# METADATA
# title: Not known
# description: Keeps what rests on something that could not be read.
# custom:
#   kinds: all
#   summary: {rank: 130, group: not fully known}
#   parameters:
#     rules.recorded_folders: "names of folders, and the `format` of the records without which nothing in them may go"
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
	"rule": "protect.unknown",
	"message": $"{name} could not be read: {status}",
	"evidence": {"source": name, "status": status},
} if {
	some name, status in input.evidence_sources
	status != "ok"
	not name in _serverless
}

# METADATA
# title: It or its source is not known
# description: >-
#   The candidate's own source, the processes or the ledger were not read whole, or some part of what makes the candidate the
#   same thing at a later look was not.
objections contains {
	"rule": "protect.unknown",
	"message": "its source, the processes, the ledger or its identity could not be read whole",
	"evidence": reasons.evidence(_source),
} if not _known

# METADATA
# title: A process was read in brief
# description: >-
#   Only what costs little was read of the process, because each rule about processes names the ones that it is about
#   (custom.candidates in its METADATA), and this is not one of them.
objections contains {
	"rule": "protect.unknown",
	"message": "it was read in brief only, because no rule names such a process in its METADATA (candidates): take candidates out of the rule that found it",
	"evidence": {"brief": true},
} if {
	input.kind == "process"
	input.process.brief
}

# METADATA
# title: The levels of the rules are not known
# description: Which rules are off, or only observe, is missing from the input.
objections contains {
	"rule": "protect.unknown",
	"message": "which rules are turned off is not known (rules.levels)",
	"evidence": {},
} if not levels.known

# METADATA
# title: A pane was not read
# description: Not every pane that the tab has is listed, or what runs in one of them, or whether an agent does, could not be read.
objections contains {
	"rule": "protect.unknown",
	"message": reasons.or_default(_pane_errors, "what runs in one of its panes could not be read"),
	"evidence": reasons.evidence(_panes),
} if {
	input.kind == "tab"
	not tabs.editor
	not panes.all_read
}

# METADATA
# title: A tab of an editor was not read
# description: >-
#   What stands behind a terminal tab of an editor could not be read: its process, or whether its builder and that builder's terminals are on
#   record.
objections contains {
	"rule": "protect.unknown",
	"message": reasons.or_default(_tab_error, "whether its process, or what it shows, has ended could not be read"),
	"evidence": reasons.evidence(_tab),
} if {
	input.kind == "tab"
	tabs.editor
	not tabs.read
}

# METADATA
# title: Something of a session was not read
# description: Something about the session could not be read, such as a name that tmux gives with a tab in it.
objections contains {
	"rule": "protect.unknown",
	"message": reasons.or_default(_session_error, "not all of the session could be read"),
	"evidence": {},
} if {
	input.kind == "session"
	not sessions.told
}

# METADATA
# title: A terminal was not read
# description: >-
#   Something about the terminal could not be read: whether its Tower lists it, which process is its own, or what lives below that.
objections contains {
	"rule": "protect.unknown",
	"message": reasons.or_default(_terminal_error, "whether its Tower lists it, which process is its own or what lives below that could not be read"),
	"evidence": reasons.evidence(_terminal),
} if {
	input.kind == "terminal"
	not terminals.told
}

# METADATA
# title: The records of its folder were not read
# description: The folder lies where an orchestrator keeps its worktrees, and not all records of that orchestrator were read.
objections contains {
	"rule": "protect.unknown",
	"message": $"it lies where {folder.format} keeps its worktrees, and the records of {folder.format} were not read",
	"evidence": folder,
} if {
	input.kind == "dir"
	some place, folder in input.config.recorded_folders
	not place in _accounted
}

# The folder is not of that name, and lies in none.
_accounted contains place if {
	input.dir.path != ""
	some place, folder in input.config.recorded_folders
	contains(concat("", [input.dir.path, "/"]), concat("", ["/", folder.name, "/"])) == false
}

_accounted contains place if {
	some place, folder in input.config.recorded_folders
	concat(":", ["spawns", folder.format]) in input.records_read
	concat(":", ["registry", folder.format]) in input.records_read
}

_known if {
	input.source.status == "ok"
	input.evidence_sources.proc == "ok"
	input.evidence_sources.ledger == "ok"
	input.identity != ""
}

# Then the objection of its own says so.
_known if {
	input.source.status == "ok"
	input.evidence_sources.proc == "ok"
	input.evidence_sources.ledger == "ok"
	input.process.brief
}

_serverless contains name if {
	some name, status in input.evidence_sources
	status == "absent"
	strings.any_prefix_match(name, ["tmux/", "herdr/"])
}

_pane_errors contains $"what runs in the pane {pane.id} could not be read: {pane.error}" if {
	some pane in input.tab.panes
	pane.error != ""
}

_tab_error contains $"not all of the tab could be read: {input.tab.editor.error}" if input.tab.editor.error != ""

_tab_error contains "the window has no workspace of Codev's open, so where its builder would be is not known" if {
	tabs.drawn
	input.tab.editor.error == ""
	input.tab.editor.codev.key != ""
	not input.shown.workspaces
}

_tab contains {"pid": input.tab.editor.pid}

_tab contains {"workspaces": input.shown.workspaces}

_session_error contains $"not all of the session could be read: {input.session.error}" if input.session.error != ""

_terminal_error contains $"not all of the terminal could be read: {input.terminal.error}" if input.terminal.error != ""

_source contains {"source": input.source.name}

_source contains {"status": input.source.status}

_panes contains {"pane_count": input.tab.pane_count}

_panes contains {"panes": [pane.id | some pane in input.tab.panes]}

_panes contains {"read": panes.read}

_terminal contains {"listed": input.terminal.listed}

_terminal contains {"pid": input.terminal.pid}
