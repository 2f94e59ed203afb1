# METADATA
# title: Not known
# description: >-
#   Keeps a candidate when something that it, or the evidence about it, rests on was not read whole, or when what makes it the
#   same thing at a later look is not known. A multiplexer's socket without a server is no gap: there is positively nothing.
#   Orchestrators keep worktrees in folders of their own: what lies in one is nobody's business without their records.
package policies.protect.unknown

import data.policies.lib.panes
import data.policies.lib.sessions
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
	"message": "what it came from, or what makes it the same thing at a later look, could not be read whole",
	"evidence": {k: v | some k, v in {"source": input.source.name, "status": input.source.status}},
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
# title: A pane was not read
# description: Not every pane that the tab has is listed, or what runs in one of them, or whether an agent does, could not be read.
objections contains {
	"rule": "protect.unknown",
	"message": "what runs in one of its panes could not be read",
	"evidence": {
		"pane_count": [n | n := input.tab.pane_count],
		"panes": [pane.id | some pane in input.tab.panes],
		"read": panes.read,
		"errors": {failed | failed := input.tab.panes[_].error},
	},
} if {
	input.kind == "tab"
	not panes.all_read
}

# METADATA
# title: Something of a session was not read
# description: Something about the session could not be read, such as a name that tmux gives with a tab in it.
objections contains {
	"rule": "protect.unknown",
	"message": "not all of it could be read",
	"evidence": {"errors": [failed | failed := input.session.error]},
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
	"message": "whether its Tower lists it, which process is its own or what lives below that could not be read",
	"evidence": {
		"listed": [listed | listed := input.terminal.listed],
		"pid": [pid | pid := input.terminal.pid],
		"errors": [failed | failed := input.terminal.error],
	},
} if {
	input.kind == "terminal"
	not terminals.told
}

# METADATA
# title: The records of its folder were not read
# description: The folder lies where an orchestrator keeps its worktrees, and not all of that one's records were read.
objections contains {
	"rule": "protect.unknown",
	"message": $"it lies where {folder.format} keeps its worktrees, and that one's records were not read",
	"evidence": {k: v | some k, v in {"folder": folder.name, "format": folder.format}},
} if {
	input.kind == "dir"
	some place, folder in input.config.recorded_folders
	not place in _accounted
}

# The folder is not of that name, and lies in none.
_accounted contains place if {
	some place, folder in input.config.recorded_folders
	input.dir.path != ""
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
	startswith(name, "tmux/")
}

_serverless contains name if {
	some name, status in input.evidence_sources
	status == "absent"
	startswith(name, "herdr/")
}
