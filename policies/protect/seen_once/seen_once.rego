# METADATA
# title: Seen once
# description: |-
#   Keeps what a person may be looking at, and processes, until a second look has found the same.
#
#   A session, tab or terminal with a reason to go, unless an earlier sweep found that same reason on that same thing at least
#   `confirm_after` ago, and nothing but this wait has objected at any sweep since.
#
#   A process with a reason to go, unless an earlier sweep found that same reason on that same process at least
#   `confirm_process_after` ago, nothing but this wait has objected since, and one of these holds:
#
#   - No look in the last `confirm_process_after` has found that it, or anything below it, did some work.
#   - It was found so for `confirm_busy_after`, at work or not.
#   - It is a [runaway](runaway.md), which goes for being busy.
#
#   It has worked when it and all below it used more than `busy.cpu` processors or wrote more than `busy.written` bytes a second
#   since the look that began the wait, when a process came or went below it, or when one of them runs or waits for a disk at that
#   very moment. What of that is not known counts as work. Written is what was passed to `write(2)`, to whatever file, pipe or
#   terminal (`wchar` of `/proc/<pid>/io`): the bytes that reached a disk leave out a log's next line.
#
#   All of these times count only while the machine was awake ([protect.young](young.md)). Every look counts, also one without
#   `--apply`. Another program with the same pid, or another reason, starts again from the first look; a look that could not read what it takes
#   changes nothing. `cleanup ID --safe` does not ask for the second look, because a person asks for this one thing, but
#   keeps a process that was seen at work. `sweep --apply --confirm` waits `confirm_after` and no longer: it does nothing for
#   processes that have to wait for more. Folders are not asked to wait.
# custom:
#   kinds: session, tab, terminal, process
#   parameters:
#     rules.confirm_after: "how far apart the two looks must be"
#     rules.confirm_process_after: "the same for a process, and for how long it must have been idle; with 0s one look is enough"
#     rules.confirm_busy_after: "how long a busy process must have been found over and over"
#     rules.busy.cpu: "processors that an idle process and all below it may use"
#     rules.busy.written: "bytes a second that they may write"
#   why: |-
#     One look can be wrong: a shell between two commands is idle, and a failed `tmux` call was read as "no such session" and cost
#     nine live agents (eltmon/overdeck#2757, #2787). An agent that is started again (`claude --resume`) has another number and is
#     younger than the build that it left running, so that the build has no live owner at the first look; and what is ended cannot be brought
#     back. Sightings are in the ledger, so a restart neither acts at once nor starts over.
#
#     Idle MCP servers (`@modelcontextprotocol/server-everything`, `server-filesystem`), `typescript-language-server`, `vite`,
#     `chokidar` and `tsc --watch` were measured over four minutes to use 0 to 0.001 processors and to write nothing; a watcher that
#     polls used 0.002 and wrote 140 bytes a second, and so waits for longer.
#   example: |-
#     First sweep: `protect.seen_once: it needs a second look, some time after the first, to be sure`. A sweep a minute later reaps. A
#     new shell in the pane in between is another identity, and the wait begins again.
#
#     `node` (7001) is found to be an orphan at 10:00: `one look does not tell whether it is still at work, not before 10:05:00`. At
#     10:05 it has used no processor: reaped. Where a compiler below it worked until 10:20: `it has worked since the look before`, and
#     it goes at the first look from 10:25 on; where that works on: from 10:30 on.
package policies.protect.seen_once

import data.policies.lib.levels
import data.policies.lib.words

# METADATA
# title: The reason was not found at an earlier look yet
# description: >-
#   There is no earlier sighting of this thing with this reason, or it is too short a while ago. A process must also have done nothing
#   in between, or have been found for so much longer.
objections contains {
	"rule": "protect.seen_once",
	"message": words.said(_reasons, "when it was first found is not known"),
	"evidence": words.known(_facts),
} if {
	input.kind != "dir"
	count(levels.counting) > 0
	not _confirmed
}

# The operator wants no second look at processes.
_confirmed if {
	input.kind == "process"
	input.config.confirm_process_after == 0
}

_confirmed if {
	_same
	some left in _left
	left <= 0
}

# The same reason on the same thing. A rule whose level is below that of another one that found a reason shortens no wait.
_same if {
	input.sighting.identity != ""
	input.sighting.identity == input.identity
	input.sighting.rule in levels.counting
}

_asked := input.config.confirm_after if input.kind != "process"

_asked := input.config.confirm_process_after if input.kind == "process"

# In how many seconds a look may let it go at the earliest, by each of the ways in which it may.
_left contains _asked - input.sighting.first if input.kind != "process"

# A process when it does nothing until then.
_left contains max([_asked - input.sighting.first, _asked - _idle]) if input.kind == "process"

# One that is busy takes longer.
_left contains max([_asked, input.config.confirm_busy_after]) - input.sighting.first if input.kind == "process"

# Being busy is what a runaway goes for.
_left contains _asked - input.sighting.first if "reap.processes.runaway" in levels.counting

default _idle := 0

_idle := input.sighting.idle

_reasons contains $"it needs a second look, {words.span(_asked)} after the first" if not _same

_reasons contains $"it was first found {words.span(input.sighting.first)} ago; at least {words.span(_asked)} is required" if {
	_same
	input.sighting.first < _asked
}

_reasons contains "it has worked since the look before" if {
	_same
	input.sighting.idle == 0
}

_reasons contains $"it has done nothing for {words.span(input.sighting.idle)}; at least {words.span(_asked)} is required" if {
	_same
	input.sighting.idle > 0
	input.sighting.idle < _asked
}

_reasons contains "whether it has worked since the look before is not known" if {
	input.kind == "process"
	_same
	not input.sighting.idle
}

_facts contains {"first": input.sighting.first}

_facts contains {"idle": input.sighting.idle}

_facts contains {"cpu": input.sighting.cpu}

_facts contains {"written": input.sighting.written}

_facts contains {"asked": _asked}

_facts contains {"left": max([0, min(_left)])} if _same

_facts contains {"left": _asked} if not _same
