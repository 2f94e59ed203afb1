# METADATA
# title: Terminal of a builder that is gone
# description: |-
#   A Codev terminal of a builder, or of its development server, whose builder was cleaned up.
#
#   In scope are terminals of builders and of their development servers (`Dev: ...`), and no others: never an architect's, never a
#   shell that a person opened. It must be known which builder of which workspace the terminal belongs to: by the terminal's own
#   row, by a development server's label and the folder that it was started in, or because an earlier look knew it. That builder
#   must have no row any more, by any spelling of its id (`Builder-PIR-0883` and `builder-builder-pir-883` are `builder-pir-883`),
#   and its worktree must be gone although its workspace is there, or be no worktree of the workspace's repository any more.
#
#   What a look finds of this is remembered before anything is done on it, for closing a builder's own terminal takes away the row
#   that says where its development server worked. It is remembered until it is positively otherwise: the terminal is another's, or
#   it is neither listed nor on record any more and its process has ended; a Tower that says for once that it has no terminals takes
#   nothing away. What no look sees any more, neither the terminal nor its process, is remembered for `alarms.remember`.
#
#   A Tower that was started again knows no development server any more, and nobody else does. One that an earlier look saw is known
#   by its very process (pid and start), and is ended with what runs in it. One that no look ever saw is a shellper that nobody
#   knows: that it was started in a builder's worktree says whose it was and not what runs in it, so that it stays while anything
#   does ([reap.terminals.husk](terminal-husk.md)).
#
#   A list of builders that is empty proves nothing by itself, nor does a worktree that cannot be looked for: the disk may not be
#   mounted. A terminal that names no builder has none that could be gone.
#
#   None of its own. `alarms.remember` (168h) is how long it is remembered whose a terminal was that is seen no more. How long an
#   agent in such a terminal must have been silent is for [protect.live](live.md) to say.
# custom:
#   needs: [codev]
#   waits: [rules.grace.terminal, rules.confirm_after]
#   why: |-
#     Codev compares what it sees now with what it saw a moment ago, and closes what is missing. That has failed whenever a moment was
#     missed: the trigger was lost, the first look came after the cleanup, the key was spelt otherwise. An answer that did not come
#     once blanked its whole list (cluesmith/codev#916). This rule compares nothing: it looks at what is there, and as long as the
#     terminal is, it is found at every sweep. Two sweeps must agree before it is closed ([protect.seen_once](seen_once.md)).
#   example: |-
#     `builder-pir-883` has no row, `.builders/pir-883-slug` is gone, its agent has printed nothing since noon:
#
#     ```
#     terminal:codev/default/b26afcb2-e6ce-4410-9950-93df6cbfe922   reap   reap.terminals.ownerless: its builder builder-pir-883 is no longer on record, and its worktree is gone
#     ```
#
#     With the worktree still registered there is no finding. While the Tower is down it is spared by [protect.unknown](unknown.md),
#     and what was seen before counts on.
package policies.reap.terminals.ownerless

import data.policies.lib.terminals
import data.policies.lib.words

# METADATA
# title: In scope
# description: The terminal is a builder's or its development server's.
in_scope if terminals.of_builder

# METADATA
# title: Its builder is gone
# description: The terminal's builder is known and no longer on record, and its worktree is gone or deregistered.
findings contains {
	"rule": "reap.terminals.ownerless",
	"message": $"its builder {input.terminal.owner.id} is no longer on record, and its worktree is {terminals.worktree_left}",
	"evidence": words.known(_facts),
} if terminals.ownerless

_facts contains {"builder": input.terminal.owner.id}

_facts contains {"how": input.terminal.owner.how}

_facts contains {"worktree": input.terminal.owner.worktree}

_facts contains {"owner_seen": input.owner_seen}
