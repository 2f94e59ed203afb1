# METADATA
# title: Not known
# description: >-
#   Keeps a candidate when something that it, or the evidence about it, rests on was not read whole, or when what makes it the
#   same thing at a later look is not known. A multiplexer's socket without a server is no gap: there is positively nothing.
package policies.protect.unknown

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

_known if {
	input.source.status == "ok"
	input.evidence_sources.proc == "ok"
	input.evidence_sources.ledger == "ok"
	input.identity != ""
}

_serverless contains name if {
	some name, status in input.evidence_sources
	status == "absent"
	startswith(name, "tmux/")
}
