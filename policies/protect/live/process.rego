package policies.protect.live

import data.policies.lib.leftovers
import data.policies.lib.names
import data.policies.lib.processes
import data.policies.lib.provenance
import data.policies.lib.reasons

objections contains reasons.keep_first([_reasons, _peers_unknown], _process_unknown, _facts) if {
	input.kind == "process"
	not _detached
}

objections contains reasons.keep(_tied, _ties_unknown, _ties) if {
	input.kind == "process"
	not leftovers.loose
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

# A process whose session is known and that no pane claims has no pane: the panes' sources were read, or
# protect.unknown objects.
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

# The same of what it runs.
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

# Its agent, its folder and its clients are gone.
_no_listener if provenance.leaked

_reasons contains $"it is a daemon that its vendor runs for all of its agents ({daemon}), which no rule ends" if {
	daemon := input.process.daemon
	daemon != ""
}

_reasons contains "it is an agent" if processes.agent == true
_reasons contains "it has a terminal" if input.process.tty != ""
_reasons contains $"it belongs to the pane {input.lineage.pane}" if input.lineage.pane != ""
_reasons contains $"{input.lineage.interpreter} {_unidentified}" if input.lineage.unidentified == true
_reasons contains $"an interpreter below it {_unidentified}" if input.lineage.unidentified_below == true
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

_unidentified := "runs an unknown program, which may be an agent (rules.families lists programs that are not)"
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
	"hangup": "it ignores SIGHUP, as after nohup",
	"nohup": "nohup started it",
	"systemd-run": "systemd-run started it",
	"at": "at started it",
	"multiplexer": "a terminal multiplexer started it",
}

_facts contains {"tty": input.process.tty}
_facts contains {"ports": input.process.listening}
_facts contains {"sockets": input.lineage.sockets}
