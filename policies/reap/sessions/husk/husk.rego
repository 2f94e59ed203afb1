# METADATA
# title: Husk of a session
# description: |-
#   A tmux session in which every pane is back at its own idle shell.
#
#   In scope are sessions whose name is listed, and those that a registry entry names by `session`. Every pane must be positively
#   idle: it is not dead, its shell is the foreground process group, that group has one member, that member is the shell itself, one
#   of `shells` and waits for a person, the shell's session has no other member but prompt helpers and servers that an agent left
#   behind, and nothing that was started in it is at work elsewhere (what that means is in [protect.live](live.md)). A session
#   without panes is not one, and neither is one with a dead pane.
#
#   A shell waits for a person when its command line, read as that shell reads it, has neither a script nor a command (`-c`), its
#   input is its terminal, and nothing shows that it is in the middle of something: it does not work, nor sleep in a pipe, a FIFO, a
#   socket or a pause, and where it edits lines (bash, zsh, fish) its terminal is as such a shell has it while it waits for a
#   command. So `bash worker.sh`, `bash -c ...`, `bash < worker.sh`, `exec bash worker.sh` and a script that was sourced are no idle
#   shells, though nothing else is in the pane. What of that is not known, or a command line that is not understood, keeps.
#
#   A registry entry means a session only when no other session, on any tmux server, bears the name that it records, and when the
#   session was not made after the entry's owner had ended: a session of that name made later is another one's.
# custom:
#   needs: [tmux, named_sessions]
#   waits: [rules.grace.session, rules.confirm_after]
#   parameters:
#     rules.session_names: "sessions in scope by name: `exact` names and `prefix`es; an empty word puts nothing in scope"
#     rules.shells: "what an idle pane holds"
#     rules.prompt_daemons: "what a shell keeps beside itself to draw its prompt: no work"
#   why: |-
#     Agents and orchestrators leave a shell behind in each session that they used. What a pane *shows* proves nothing: a reaper that
#     went by the text of the screen took agents that waited between two turns for idle ones. So only processes count, read from /proc
#     and not from tmux's word. One live pane spares the whole session, for the session is what is closed.
#   example: |-
#     `worker-7` with one pane, `zsh` (812) in the foreground of itself and nothing else in its session:
#
#     ```
#     session:tmux/default/$4   reap   reap.sessions.husk: every pane of it is back at its own idle shell
#     ```
#
#     With `make &` running in the same pane it is spared: [protect.live](live.md).
package policies.reap.sessions.husk

import data.policies.lib.panes
import data.policies.lib.sessions

# METADATA
# scope: document
# title: In scope
# description: The session's name is listed, or a registry entry names it.
in_scope if {
	input.kind == "session"
	sessions.recorded
}

in_scope if {
	input.kind == "session"
	sessions.named
}

# METADATA
# title: Every pane is an idle shell
# description: Nothing runs in the session but the shells that its panes began with.
findings contains {
	"rule": "reap.sessions.husk",
	"message": "every pane of it is back at its own idle shell",
	"evidence": {"panes": panes.idle, "taken_along": panes.taken_along, "live_on": panes.live_on},
} if {
	in_scope
	panes.all_idle
}
