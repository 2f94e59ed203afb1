# METADATA
# title: Husk of a helper's tab
# description: |-
#   A helper's herdr tab in which every pane is back at its own idle shell.
#
#   In scope are tabs of herdr whose label is one of `helper_labels`: exactly, or by its beginning. Labels are compared letter by letter,
#   spaces and case included; an empty word puts nothing in scope, and neither does the label of a pane or an agent, or a record.
#   Every pane must be positively idle: its shell is the foreground process group, that group has one member, that member is the
#   shell itself, one of `shells` and waits for a person, the shell's session has no other member but prompt helpers and servers
#   that an agent left behind, and nothing that was started in it is at work elsewhere (what that means is in
#   [protect.live](live.md)). herdr must have listed as many panes as it says that the tab has, and at least one.
#
#   A shell waits for a person when it runs neither a script nor a command and reads from its terminal;
#   [reap.sessions.husk](husk.md) says how that is known. Otherwise it is work that goes by a shell's name, and keeps the tab.
#
#   A live pane spares the whole tab. So does a pane that could not be read, an empty list of processes, a pane that is counted and
#   not listed: those are counted as unknown ([protect.unknown](unknown.md)). Both make the wait for a second look begin again.
# custom:
#   candidates: [helper_labels]
#   needs: [herdr, rules.helper_labels]
#   waits: [rules.confirm_after]
#   parameters:
#     rules.helper_labels: "tabs in scope by label: `exact` labels and `prefix`es"
#     rules.shells: "what an idle pane holds"
#     rules.prompt_daemons: "what a shell keeps beside itself to draw its prompt: no work"
#   why: |-
#     Orchestrators start a tab a helper and forget it; 334 of them once took all the file descriptors that herdr had. They are not
#     known by what herdr calls an agent: when one release stopped sending that name, a reaper had nothing in scope for seven days and
#     321 husks stood (erwins-enkel/shepherd#2029). They are not known by one pane either: a tab was closed with a live pane beside an
#     idle one (erwins-enkel/shepherd#1852). The label only says what is worth a closer look. A person may call a tab `rundown` too;
#     while anything runs in it, it stays.
#   example: |-
#     `review TASK-7` with one pane, `zsh` in the foreground of itself and nothing else in its session, found so twice:
#
#     ```
#     tab:herdr/default/w1:t3   reap   reap.tabs.husk: every pane of it is back at its own idle shell
#     ```
#
#     With `claude` in one of its panes it is spared by [protect.live](live.md); as the last tab of its workspace by
#     [protect.workspace](workspace.md); under a herdr of another protocol by [protect.untried](untried.md). A tab that is called
#     `reviewing-pr` is not in scope.
package policies.reap.tabs.husk

import data.policies.lib.panes

# METADATA
# scope: document
# title: In scope
# description: The tab's label is a helper's. An empty word puts nothing in scope.
in_scope if {
	input.kind == "tab"
	some exact in input.config.helper_labels.exact
	exact != ""
	input.tab.label == exact
}

in_scope if {
	input.kind == "tab"
	some prefix in input.config.helper_labels.prefix
	prefix != ""
	startswith(input.tab.label, prefix)
}

# METADATA
# title: Every pane is an idle shell
# description: Nothing runs in the tab but the shells that its panes began with, and every pane that it has was looked at.
findings contains {
	"rule": "reap.tabs.husk",
	"message": "every pane of it is back at its own idle shell",
	"evidence": {"label": input.tab.label, "panes": panes.idle, "taken_along": panes.taken_along, "live_on": panes.live_on},
} if {
	in_scope
	panes.all_listed
	panes.all_idle
}
