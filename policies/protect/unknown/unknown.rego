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
	"message": "something that it rests on could not be read",
	"evidence": {"sources": {name: status | some name, status in input.evidence_sources; status != "ok"}},
} if not _read

# METADATA
# title: Its identity is not known
# description: Some part of what makes the candidate the same thing at a later look could not be read.
objections contains {
	"rule": "protect.unknown",
	"message": "what makes it the same thing at a later look could not be read",
	"evidence": {},
} if not _identified

_read if {
	input.source.status == "ok"
	input.evidence_sources.proc == "ok"
	input.evidence_sources.ledger == "ok"
	count(_gaps) == 0
}

_gaps contains name if {
	some name, status in input.evidence_sources
	status != "ok"
	not name in _serverless
}

_serverless contains name if {
	some name, status in input.evidence_sources
	status == "absent"
	startswith(name, "tmux/")
}

_identified if input.identity != ""
