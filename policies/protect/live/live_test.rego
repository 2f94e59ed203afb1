package policies.protect.live_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.live

test_nothing_uses_them if {
	count(live.objections) == 0 with input as subjects.dir
	count(live.objections) == 0 with input as subjects.empty
	count(live.objections) == 0 with input as subjects.session
	count(live.objections) == 0 with input as subjects.finished
	count(live.objections) == 0 with input as subjects.process
	count(live.objections) == 0 with input as subjects.tab
	count(live.objections) == 0 with input as subjects.deleted
	count(live.objections) == 0 with input as subjects.runaway
	every terminal in subjects.terminals {
		count(live.objections) == 0 with input as terminal
	}
}

test_a_folder_with_a_process_in_it_stays if {
	subjects.reasons(live.objections) == ["claude (77) uses it"] with input as subjects.changed(subjects.dir, "/holders", [{"pid": 77, "name": "claude", "how": "cwd"}])
}

test_a_folder_whose_users_are_not_known_stays if {
	every path in ["/dir/holders_known", "/holders", "/dir"] {
		subjects.reasons(live.objections) == ["whether a process uses it is unknown: not every process could be read"] with input as subjects.without(subjects.dir, [path])
	}
}

# One that something cheaper keeps, so that it was not asked who uses it.
_holders_skipped := json.patch(subjects.without(subjects.dir, ["/dir/holders_known", "/holders"]), [{"op": "add", "path": "/dir/skipped", "value": "it is locked"}])

test_a_folder_of_which_nobody_was_asked_is_for_the_rule_that_says_so if {
	count(live.objections) == 0 with input as _holders_skipped
	subjects.reasons(live.objections) == ["zsh (77) uses it"] with input as json.patch(_holders_skipped, [{"op": "add", "path": "/holders", "value": [{"pid": 77, "name": "zsh", "how": "cwd"}]}])
}

test_a_folder_of_which_nobody_was_asked_stays_where_that_rule_is_off if {
	off := subjects.changed(_holders_skipped, "/config/levels", [{"rule": "protect.unsaved", "kind": "dir", "level": "off"}])
	subjects.reasons(live.objections) == ["who uses it was not asked, because it is locked"] with input as off
	count(live.objections) == 0 with input as subjects.changed(_holders_skipped, "/config/levels", [{"rule": "protect.unsaved", "kind": "process", "level": "off"}])
}

# protect.unsaved says nothing of it, so that no rule would.
test_what_can_be_made_again_and_of_which_nobody_was_asked_stays if {
	unasked := json.patch(subjects.without(subjects.content, ["/dir/holders_known", "/holders"]), [{"op": "add", "path": "/dir/skipped", "value": "it is locked"}])
	subjects.reasons(live.objections) == ["who uses it was not asked, because it is locked"] with input as unasked
}

test_an_answer_that_says_too_little_is_one if {
	subjects.reasons(live.objections) == ["whether a process uses it is unknown: not every process could be read"] with input as json.patch(_holders_skipped, [{"op": "add", "path": "/dir/holders_known", "value": false}])
	subjects.reasons(live.objections) == ["whether a process uses it is unknown: not every process could be read"] with input as subjects.without(_holders_skipped, ["/dir/skipped"])
	subjects.reasons(live.objections) == ["whether a process uses it is unknown: not every process could be read"] with input as subjects.changed(_holders_skipped, "/dir/skipped", "")
}

test_a_folder_whose_users_were_not_all_read_stays if {
	subjects.reasons(live.objections) == ["whether a process uses it is unknown: not every process could be read"] with input as subjects.changed(subjects.dir, "/dir/holders_known", false)
}

test_a_folder_that_others_outside_of_the_container_may_use_stays if {
	shared := subjects.changed(json.patch(subjects.dir, [{"op": "add", "path": "/dir/shared_outside", "value": true}]), "/dir/holders_known", false)
	subjects.reasons(live.objections) == ["it lies on a mount that processes outside of this container may use, and those are not seen from here; run winnow on the host, where they are seen"] with input as shared
}

test_a_folder_that_something_leads_into_from_outside_stays if {
	every kind, says in {
		"link": "a link leads into it: /home/u/x",
		"install": "an editable install of Python leads into it: /home/u/x",
		"unit": "a unit of systemd names it: /home/u/x",
		"cron": "a crontab names it: /home/u/x",
		"git": "git's configuration leads into it: /home/u/x",
		"hook": "a git hook names it: /home/u/x",
		"script": "a program names it: /home/u/x",
		"shell": "what a shell reads when it starts names it: /home/u/x",
		"checkout": "another folder is a checkout of the same entry, such as a copy: /home/u/x",
	} {
		led := subjects.changed(subjects.dir, "/dir/pointers", [{"kind": kind, "path": "/home/u/x"}])
		subjects.reasons(live.objections) == [$"{says}"] with input as led
	}
}

test_an_entry_whose_worktree_was_moved_by_hand_stays if {
	moved := json.patch(subjects.changed(subjects.dir, "/dir/pointers", [{"kind": "checkout", "path": "/w/x"}]), [{"op": "add", "path": "/dir/gone", "value": true}, {"op": "remove", "path": "/dir/checkout"}, {"op": "add", "path": "/dir/git/common_dir", "value": "/w/acme/.git"}])
	subjects.reasons(live.objections) == ["it was moved by hand to /w/x; git -C /w/acme/.git worktree repair /w/x mends its entry"] with input as moved
	named := subjects.changed(subjects.changed(moved, "/dir/pointers/0/path", "/w/x; y"), "/dir/git/common_dir", "/w/a b/.git")
	said := "it was moved by hand to /w/x; y; git -C '/w/a b/.git' worktree repair '/w/x; y' mends its entry"
	subjects.reasons(live.objections) == [said] with input as named
}

test_a_folder_of_which_it_is_not_known_what_leads_into_it_stays if {
	subjects.reasons(live.objections) == ["what leads into it from outside is not known"] with input as subjects.without(subjects.dir, ["/dir/pointers"])
	unread := json.patch(subjects.without(subjects.dir, ["/dir/pointers"]), [{"op": "add", "path": "/dir/error", "value": "crontab -l: exit status 3"}])
	subjects.reasons(live.objections) == ["what leads into it from outside is not known: crontab -l: exit status 3"] with input as unread
	subjects.reasons(live.objections) == ["what leads into it from outside is not known"] with input as subjects.changed(subjects.dir, "/dir/pointers", [{"kind": "a new kind", "path": "/x"}])
}

test_a_session_that_runs_something_stays if {
	subjects.reasons(live.objections) == ["something runs in one of its panes: vim"] with input as subjects.changed(subjects.session, "/session/panes/0/foreground", [{"pid": 900, "name": "vim"}])
	subjects.reasons(live.objections) == ["what runs in one of its panes is not known"] with input as subjects.changed(subjects.session, "/session/panes/0/foreground_pgid", 900)
}

test_one_busy_pane_of_two_keeps_the_session if {
	subjects.reasons(live.objections) == ["what runs in one of its panes is not known"] with input as subjects.changed(subjects.session, "/session/panes/1", object.union(subjects.idle_pane, {"foreground_pgid": 5}))
}

test_a_background_job_keeps_the_session if {
	subjects.reasons(live.objections) == ["something runs behind the shell of one of its panes: sleep"] with input as json.patch(subjects.session, [{"op": "add", "path": "/session/panes/0/session_pids", "value": [812, 813]}, {"op": "add", "path": "/session/panes/0/session/1", "value": {"pid": 813, "name": "sleep"}}])
}

test_a_session_of_dead_panes_is_not_live if {
	count(live.objections) == 0 with input as json.patch(subjects.session, [{"op": "add", "path": "/session/panes/0", "value": subjects.dead_pane("%5")}])
}

test_a_session_that_little_is_known_of_stays if {
	every path, reasons in {
		"/session/panes/0/shell_pid": ["what runs in one of its panes is not known"],
		"/session/panes/0/foreground_pgid": ["what runs in one of its panes is not known"],
		"/session/panes/0/foreground": ["what runs in one of its panes is not known"],
		"/session/panes/0/session": ["what runs in one of its panes is not known"],
		"/session/panes/0/session_pids": ["what runs in one of its panes is not known"],
		"/session/panes/0/dead": ["what runs in one of its panes is not known"],
		"/session/panes": ["what runs in one of its panes is not known"],
		"/session": ["what runs in one of its panes is not known", "whether a popup or a job of it runs is not known"],
		"/config/shells": ["what runs in one of its panes is not known"],
	} {
		subjects.reasons(live.objections) == reasons with input as subjects.without(subjects.session, [path])
	}
}

test_a_popup_keeps_its_session if {
	some objection in live.objections with input as subjects.changed(subjects.session, "/session/popups", [{"pid": 900, "name": "sh"}, {"pid": 901, "name": "claude"}])
	objection.message == "a popup or a job of it runs"
	objection.evidence == {"running": {"sh", "claude"}}
}

test_a_session_whose_popups_are_not_known_stays if {
	some objection in live.objections with input as subjects.without(subjects.session, ["/session/popups"])
	objection.message == "whether a popup or a job of it runs is not known"
}

test_a_session_without_panes_stays if {
	subjects.reasons(live.objections) == ["what runs in one of its panes is not known"] with input as subjects.changed(subjects.session, "/session/panes", [])
}

test_an_agent_stays if {
	some objection in live.objections with input as subjects.changed(subjects.process, "/lineage/is_agent", true)
	objection.message == "it is an agent"
}

test_a_daemon_of_an_agents_vendor_stays_and_is_called_one if {
	agent := subjects.changed(subjects.process, "/lineage/is_agent", true)
	some objection in live.objections with input as subjects.changed(agent, "/process/daemon", "codex app-server")
	objection.message == "it is a daemon that its vendor runs for all of its agents (codex app-server), which no rule ends; it is an agent"
	some other in live.objections with input as subjects.changed(agent, "/process/daemon", "")
	other.message == "it is an agent"
}

test_a_process_with_a_terminal_stays if {
	some objection in live.objections with input as subjects.changed(subjects.process, "/process/tty", "pts/3")
	objection.message == "it has a terminal"
}

test_a_process_of_a_pane_stays if {
	some objection in live.objections with input as subjects.changed(subjects.process, "/lineage/pane", "%5")
	objection.message == "it belongs to the pane %5"
}

test_a_listener_stays if {
	some objection in live.objections with input as subjects.changed(subjects.process, "/process/listening", [5173])
	objection.message == "it listens on a port"
}

test_one_that_listens_on_a_unix_socket_stays if {
	some objection in live.objections with input as subjects.changed(subjects.process, "/lineage/sockets", ["/run/user/1000/emacs/server"])
	objection.message == "it listens on a unix socket"
	objection.evidence.sockets == ["/run/user/1000/emacs/server"]
}

test_what_an_interpreter_runs_has_to_be_known if {
	some objection in live.objections with input as subjects.unidentified(subjects.process)
	objection.message == "node runs a program that Winnow does not know: it may be an agent (if not, name it in rules.families)"
	subjects.reasons(live.objections) == ["node runs a program that Winnow does not know: it may be an agent (if not, name it in rules.families)"] with input as subjects.unidentified(subjects.deleted)
}

test_what_runs_below_it_has_to_be_known_too if {
	some objection in live.objections with input as json.patch(subjects.process, [{"op": "remove", "path": "/lineage/agent_below"}, {"op": "add", "path": "/lineage/unidentified_below", "value": true}])
	objection.message == "an interpreter below it runs a program that Winnow does not know: it may be an agent (if not, name it in rules.families)"
}

test_what_is_busy_for_an_owner_who_is_over_need_not_be_known if {
	count(live.objections) == 0 with input as subjects.unidentified(subjects.runaway)
	every patch in [
		{"op": "add", "path": "/busy", "value": 0.5},
		{"op": "add", "path": "/age", "value": 10},
		{"op": "add", "path": "/entries/0/terminal", "value": false},
		{"op": "add", "path": "/lineage/multiplexer", "value": true},
		{"op": "remove", "path": "/process/exe"},
	] {
		subjects.reasons(live.objections) == ["node runs a program that Winnow does not know: it may be an agent (if not, name it in rules.families)"] with input as json.patch(subjects.unidentified(subjects.runaway), [patch])
	}
	below := subjects.changed(subjects.unidentified(subjects.runaway), "/lineage/agent_below", true)
	subjects.reasons(live.objections) == ["an agent runs below it; node runs a program that Winnow does not know: it may be an agent (if not, name it in rules.families)"] with input as below
	unknown := subjects.without(subjects.unidentified(subjects.runaway), ["/lineage/unidentified"])
	subjects.reasons(live.objections) == ["whether it is an agent, has a terminal or listens, or one below it, is not known"] with input as unknown
}

test_what_runs_below_a_runaway_need_not_be_known if {
	loop := json.patch(subjects.runaway, [
		{"op": "remove", "path": "/lineage/agent_below"},
		{"op": "add", "path": "/lineage/unidentified_below", "value": true},
		{"op": "add", "path": "/lineage/agent_named_below", "value": false},
	])
	count(live.objections) == 0 with input as loop
	every patch in [
		{"op": "remove", "path": "/lineage/agent_named_below"},
		{"op": "add", "path": "/lineage/agent_named_below", "value": true},
		{"op": "add", "path": "/busy", "value": 0.5},
		{"op": "remove", "path": "/busy"},
		{"op": "add", "path": "/entries/0/terminal", "value": false},
		{"op": "remove", "path": "/entries/0/terminal"},
		{"op": "add", "path": "/lineage/multiplexer", "value": true},
		{"op": "remove", "path": "/lineage/multiplexer"},
		{"op": "add", "path": "/lineage/tty_below", "value": true},
	] {
		count(live.objections) == 1 with input as json.patch(loop, [patch])
	}
}

test_the_parent_of_an_agent_stays if {
	some objection in live.objections with input as subjects.changed(subjects.process, "/lineage/agent_below", true)
	objection.message == "an agent runs below it"
}

test_the_parent_of_something_with_a_terminal_stays if {
	some objection in live.objections with input as subjects.changed(subjects.process, "/lineage/tty_below", true)
	objection.message == "a process below it has a terminal"
}

test_the_parent_of_a_listener_stays if {
	some objection in live.objections with input as subjects.changed(subjects.process, "/lineage/listener_below", true)
	objection.message == "a process below it listens on a port or on a unix socket"
}

test_listeners_may_go_when_the_operator_says_so if {
	count(live.objections) == 0 with input as json.patch(subjects.process, [{"op": "add", "path": "/process/listening", "value": [5173]}, {"op": "add", "path": "/config/spare_listeners", "value": false}])
}

test_a_process_that_little_is_known_of_stays if {
	every path in ["/process/session", "/lineage/pane", "/process/tty", "/process/state", "/process/listening", "/lineage/sockets", "/lineage/agent_below", "/lineage/tty_below", "/lineage/listener_below", "/lineage/is_agent", "/process"] {
		subjects.reasons(live.objections) == ["whether it is an agent, has a terminal or listens, or one below it, is not known"] with input as subjects.without(subjects.process, [path])
	}
}

test_what_is_only_called_a_terminal_stays if {
	subjects.reasons(live.objections) == ["whether anything runs in it is not known"] with input as subjects.changed(subjects.session, "/kind", "terminal")
}

_running(terminal) := subjects.changed(terminal, "/idle", 599)

test_an_agent_that_printed_something_lately_keeps_its_terminal if {
	some objection in live.objections with input as _running(subjects.terminal)
	objection.message == "it printed something 9m59s ago; it waits for 10m; something runs in it: bash, claude"
	objection.evidence == {"running": {"bash", "claude"}, "idle": 599}
}

test_an_agent_keeps_a_servers_terminal if {
	subjects.reasons(live.objections) == ["it printed something 1s ago; it waits for 10m; something runs in it: claude, node"] with input as subjects.changed(subjects.server, "/terminal/below/1", {"pid": 6113, "name": "claude"})
}

test_a_terminal_whose_builder_is_there_stays_however_quiet_it_is if {
	every path, value in {"recorded": true, "gone": false} {
		some objection in live.objections with input as subjects.changed(subjects.terminal, concat("", ["/terminal/owner/", path]), value)
		objection.message == "something runs in it: bash, claude"
	}
}

test_a_childless_terminal_that_runs_stays_while_its_builder_is_there if {
	some objection in live.objections with input as json.patch(subjects.exited, [{"op": "add", "path": "/terminal/status", "value": "running"}])
	objection.message == "its Tower says that it runs"
}

test_an_exited_terminal_in_which_something_lives_stays if {
	subjects.reasons(live.objections) == ["something runs in it: make"] with input as subjects.changed(subjects.exited, "/terminal/below", [{"pid": 6102, "name": "make"}])
}

test_a_shellper_with_a_child_stays if {
	some objection in live.objections with input as subjects.changed(subjects.shellper, "/terminal/below", [{"pid": 6102, "name": "sh"}])
	objection.message == "something runs in it: sh"
}

test_a_terminal_that_little_is_known_of_stays if {
	every path, reasons in {
		"/terminal/owner": ["something runs in it: bash, claude"],
		"/terminal/owner/gone": ["something runs in it: bash, claude"],
		"/terminal/owner/recorded": ["something runs in it: bash, claude"],
		"/terminal/below": ["whether anything runs in it is not known"],
		"/terminal/role_kind": ["something runs in it: bash, claude"],
		"/terminal": ["whether anything runs in it is not known"],
		"/idle": ["something runs in it: bash, claude"],
		"/config/terminal_idle": ["something runs in it: bash, claude"],
	} {
		subjects.reasons(live.objections) == reasons with input as subjects.without(subjects.terminal, [path])
	}
	every path in ["/terminal/status", "/terminal/below", "/terminal/pid"] {
		subjects.reasons(live.objections) == ["whether anything runs in it is not known"] with input as subjects.without(subjects.exited, [path])
	}
	every path in ["/terminal/role_kind", "/terminal/below", "/terminal/pid"] {
		some objection in live.objections with input as subjects.without(subjects.shellper, [path])
		objection.message == "whether anything runs in it is not known"
	}
	subjects.reasons(live.objections) == ["whether anything runs in it is not known"] with input as subjects.without(subjects.ended, ["/terminal/status"])
	some objection in live.objections with input as subjects.without(subjects.terminal, ["/terminal/below"])
	objection.message == "whether anything runs in it is not known"
}

test_what_is_only_called_a_tab_stays if {
	subjects.reasons(live.objections) == ["what runs in one of its panes, or whether an agent does, is not known"] with input as subjects.changed(subjects.session, "/kind", "tab")
}

test_a_tab_that_runs_something_stays if {
	some objection in live.objections with input as json.patch(subjects.tab, [
		{"op": "add", "path": "/tab/panes/0/foreground_pgid", "value": 900},
		{"op": "add", "path": "/tab/panes/0/foreground", "value": [{"pid": 900, "name": "claude"}]},
		{"op": "add", "path": "/tab/panes/0/agent_status", "value": "working"},
	])
	objection.message == "herdr says of the agent in one of its panes: working; something runs in one of its panes: claude"
	objection.evidence == {"running": {"claude"}, "background": set(), "elsewhere": set(), "scripts": []}
}

test_a_script_keeps_its_session_and_its_tab if {
	every subject in [subjects.session, subjects.tab] {
		pane := subject[subject.kind].panes[0].id
		some objection in live.objections with input as subjects.changed(subject, concat("", ["/", subject.kind, "/panes/0/session/0/interactive"]), false)
		objection.evidence.scripts == [pane]
	}
}

test_a_shell_that_wakes_by_itself_keeps_its_session_and_its_tab if {
	every subject in [subjects.session, subjects.tab] {
		shell := subject[subject.kind].panes[0].session[0]
		rest := concat("", ["/", subject.kind, "/panes/0/session/0/rest"])
		some objection in live.objections with input as subjects.changed(subject, rest, {"seconds": 3, "woke": true})
		objection.message == $"its shell {shell.name} ({shell.pid}) ran 3s ago by itself, so it may wait for more than a person; it must not have run for 1h; end it yourself when it is no longer wanted"
		some unknown in live.objections with input as subjects.without(subject, [rest])
		unknown.message == $"whether its shell {shell.name} ({shell.pid}) ran by itself, and may wait for more than a person, is not known; end it yourself when it is no longer wanted"
		count(live.objections) == 0 with input as subjects.changed(subject, rest, {"seconds": 3, "woke": false})
	}
}

test_a_shell_that_wakes_by_itself_keeps_the_terminal_of_a_builder_that_is_gone if {
	waking := subjects.changed(subjects.terminal, "/terminal/below", [{"pid": 6150, "name": "bash", "interactive": true, "rest": {"seconds": 3, "woke": true}}])
	some objection in live.objections with input as waking
	contains(objection.message, "its shell bash (6150) ran 3s ago by itself")
	some unknown in live.objections with input as subjects.without(waking, ["/terminal/below/0/rest"])
	contains(unknown.message, "whether its shell bash (6150) ran by itself")
}

test_one_busy_pane_of_two_keeps_the_tab if {
	subjects.reasons(live.objections) == ["what runs in one of its panes, or whether an agent does, is not known"] with input as json.patch(subjects.tab, [
		{"op": "add", "path": "/tab/pane_count", "value": 2},
		{"op": "add", "path": "/tab/panes/1", "value": object.union(subjects.helper_pane, {"foreground_pgid": 5})},
	])
}

test_a_tab_in_which_herdr_knows_of_an_agent_stays if {
	every status, reasons in {
		"idle": ["herdr says of the agent in one of its panes: idle"],
		"working": ["herdr says of the agent in one of its panes: working"],
		"blocked": ["herdr says of the agent in one of its panes: blocked"],
		"done": ["herdr says of the agent in one of its panes: done"],
		"pondering": ["herdr says of the agent in one of its panes: pondering"],
		"": ["what runs in one of its panes, or whether an agent does, is not known"],
		"Unknown": ["herdr says of the agent in one of its panes: Unknown"],
	} {
		subjects.reasons(live.objections) == reasons with input as subjects.changed(subjects.tab, "/tab/panes/0/agent_status", status)
	}
}

test_one_pane_with_an_agent_of_two_keeps_the_tab if {
	subjects.reasons(live.objections) == ["herdr says of the agent in one of its panes: done"] with input as json.patch(subjects.tab, [
		{"op": "add", "path": "/tab/pane_count", "value": 2},
		{"op": "add", "path": "/tab/panes/1", "value": object.union(subjects.helper_pane, {"id": "w1:p5", "agent_status": "done"})},
	])
}

test_a_word_of_herdrs_that_the_operator_lists_is_nobody if {
	count(live.objections) == 0 with input as json.patch(subjects.tab, [{"op": "add", "path": "/tab/panes/0/agent_status", "value": "done"}, {"op": "add", "path": "/config/agent_idle", "value": ["unknown", "done"]}])
}

test_a_tab_with_a_pane_that_is_not_listed_stays if {
	subjects.reasons(live.objections) == ["what runs in one of its panes, or whether an agent does, is not known"] with input as subjects.changed(subjects.tab, "/tab/pane_count", 2)
}

test_a_tab_without_panes_stays if {
	subjects.reasons(live.objections) == ["what runs in one of its panes, or whether an agent does, is not known"] with input as json.patch(subjects.tab, [{"op": "add", "path": "/tab/panes", "value": []}, {"op": "add", "path": "/tab/pane_count", "value": 0}])
}

test_a_tab_with_a_dead_pane_stays if {
	subjects.reasons(live.objections) == ["what runs in one of its panes, or whether an agent does, is not known"] with input as subjects.changed(subjects.tab, "/tab/panes/0/dead", true)
}

test_a_tab_that_little_is_known_of_stays if {
	every path in ["/tab/panes/0/shell_pid", "/tab/panes/0/foreground_pgid", "/tab/panes/0/foreground", "/tab/panes/0/session", "/tab/panes/0/session_pids", "/tab/panes/0/dead", "/tab/panes/0/agent_status", "/tab/panes", "/tab/pane_count", "/tab", "/config/shells", "/config/agent_idle"] {
		subjects.reasons(live.objections) == ["what runs in one of its panes, or whether an agent does, is not known"] with input as subjects.without(subjects.tab, [path])
	}
}

test_what_was_started_in_a_pane_and_runs_on_elsewhere_keeps_it if {
	some objection in live.objections with input as subjects.carried
	objection.message == "what was started in one of its panes runs on elsewhere: make"
	objection.evidence.elsewhere == {"make"}
}

test_what_runs_in_a_pane_is_said_beside_what_runs_elsewhere if {
	some objection in live.objections with input as subjects.changed(subjects.carried, "/session/panes/0/foreground/0/name", "vim")
	objection.message == "something runs in one of its panes: vim; what was started in one of its panes runs on elsewhere: make"
}

test_what_runs_behind_the_shell_is_named if {
	unknown := subjects.without(subjects.littered, ["/members/0/lineage/family"])
	some objection in live.objections with input as unknown
	objection.message == "something runs behind the shell of one of its panes: node"
	objection.evidence.background == {"node"}
	some other in live.objections with input as subjects.changed(unknown, "/session/panes/0/foreground", [{"pid": 900, "name": "vim"}])
	other.message == "something runs behind the shell of one of its panes: node; something runs in one of its panes: vim"
	some unread in live.objections with input as subjects.without(unknown, ["/session/panes/0/foreground"])
	unread.message == "something runs behind the shell of one of its panes: node"
}

test_what_an_interpreter_runs_on_a_terminal_is_said_to_be_unknown if {
	some objection in live.objections with input as json.patch(subjects.process, [
		{"op": "add", "path": "/process/tty", "value": "pts/3"},
		{"op": "add", "path": "/lineage/interpreter", "value": "node"},
		{"op": "add", "path": "/lineage/unidentified", "value": true},
	])
	objection.message == "it has a terminal; node runs a program that Winnow does not know: it may be an agent (if not, name it in rules.families)"
}

test_a_leftover_in_a_pane_may_go_although_it_has_the_terminal if {
	count(live.objections) == 0 with input as subjects.left_in_pane
}

test_a_leftover_of_which_a_fact_is_not_known_stays if {
	every path in [
		"/process/foreground_pgid", "/process/pgid", "/process/listening", "/lineage/sockets", "/process/ppid", "/process/uid",
		"/process/state", "/lineage/family", "/lineage/descendants", "/lineage/added", "/lineage/is_agent", "/lineage/agents",
		"/lineage/agent_ancestor", "/host/orphan_parents", "/lineage/peers",
	] {
		subjects.reasons(live.objections) == ["it belongs to the pane %5; it has a terminal"] with input as subjects.without(subjects.left_in_pane, [path])
	}
}

test_a_process_with_one_below_it_that_may_not_end_with_it_stays if {
	every below in [
		[{"pid": 900, "id": "process:900@1", "held": false, "name": "git-remote-http", "uid": 1000, "personal": "", "own": true}],
		[{"pid": 900, "id": "process:900@1", "held": false, "name": "screen", "uid": 1000, "personal": "", "own": true}],
		[{"id": "process:900@1", "held": false, "pid": 900, "name": "node", "uid": 0, "personal": "", "own": true}],
		[{"id": "process:900@1", "held": false, "pid": 900, "name": "emacs", "uid": 1000, "personal": "editor", "own": true}],
		[{"id": "process:900@1", "held": false, "pid": 900, "name": "node", "uid": 1000, "personal": "", "own": false}],
		[{"id": "process:900@1", "held": false, "pid": 900, "name": "node", "uid": 1000}],
		[{"id": "process:900@1", "held": true, "pid": 900, "name": "node", "uid": 1000, "personal": "", "own": true}],
		[{"id": "process:900@1", "pid": 900, "name": "node", "uid": 1000, "personal": "", "own": true}],
		[{"held": false, "pid": 900, "name": "node", "uid": 1000, "personal": "", "own": true}],
		[{"id": "process:900@1", "held": false, "pid": 900, "name": "node", "personal": "", "own": true}],
		[{"id": "process:899@1", "held": false, "pid": 899, "name": "sh", "uid": 1000, "personal": "", "own": true}, {"id": "process:900@1", "held": false, "pid": 900, "name": "git", "uid": 1000, "personal": "", "own": true}],
	] {
		some objection in live.objections with input as subjects.changed(subjects.process, "/lineage/below", below)
		objection.message == "a process below it, which would end with it, must stay: it is never reaped, protected, held, another owner's, or people use it too"
	}
}

test_a_process_with_ordinary_ones_below_it_may_go if {
	count(live.objections) == 0 with input as subjects.changed(subjects.process, "/lineage/below", [{"id": "process:899@1", "held": false, "pid": 899, "name": "sh", "uid": 1000, "personal": "", "own": true}, {"id": "process:900@1", "held": false, "pid": 900, "name": "node", "uid": 1000, "personal": "", "own": true}])
}

test_a_process_with_one_below_it_that_the_operator_protects_stays if {
	below := subjects.changed(subjects.process, "/lineage/below", [{"id": "process:900@1", "held": false, "pid": 900, "name": "trainer", "uid": 1000, "personal": "", "own": true}])
	every pattern in ["trainer", "train*", "process:900@1", "process:900@*", "["] {
		subjects.reasons(live.objections) == ["a process below it, which would end with it, must stay: it is never reaped, protected, held, another owner's, or people use it too"] with input as subjects.changed(below, "/config/protected", [pattern])
	}
	count(live.objections) == 0 with input as subjects.changed(below, "/config/protected", ["another"])
	subjects.reasons(live.objections) == ["a process below it, which would end with it, must stay: it is never reaped, protected, held, another owner's, or people use it too"] with input as subjects.without(below, ["/config/protected"])
}

test_a_process_with_what_is_not_known_below_it_stays if {
	subjects.reasons(live.objections) == ["whether it is an agent, has a terminal or listens, or one below it, is not known"] with input as subjects.without(subjects.process, ["/lineage/below"])
	some many in live.objections with input as subjects.changed(subjects.without(subjects.process, ["/lineage/below"]), "/lineage/descendants", 65)
	many.message == "65 processes are below it, more than end with one"
}

_in_use := "claude (77) speaks with it: it has the other end of its input, of its output or of another descriptor"

test_a_process_that_another_one_speaks_with_is_in_use if {
	every subject in [subjects.process, subjects.leaked, subjects.duplicate, subjects.deleted] {
		count(live.objections) == 0 with input as subject
		subjects.reasons(live.objections) == [_in_use] with input as subjects.changed(subject, "/lineage/peers", [{"pid": 77, "name": "claude"}])
		subjects.reasons(live.objections) == ["whether a program still speaks with it, over its standard input or output or another descriptor, is not known"] with input as subjects.without(subject, ["/lineage/peers"])
	}
	some objection in live.objections with input as subjects.changed(subjects.left_in_pane, "/lineage/peers", [{"pid": 77, "name": "claude"}])
	startswith(objection.message, substring(_in_use, count(""), -1))
}

test_a_process_whose_input_or_output_is_open_is_in_use if {
	unseen := subjects.without(subjects.process, ["/lineage/peers"])
	subjects.reasons(live.objections) == ["another process has its standard input open, or something waits to be read there"] with input as subjects.changed(unseen, "/process/input_ended", false)
	subjects.reasons(live.objections) == ["another process reads what it prints"] with input as subjects.changed(unseen, "/process/output_read", true)
	subjects.reasons(live.objections) == ["whether a program still speaks with it, over its standard input or output or another descriptor, is not known"] with input as subjects.changed(unseen, "/process/input_ended", true)
}

test_who_speaks_with_it_is_asked_of_what_was_handed_over if {
	younger := subjects.changed(subjects.process, "/process/ppid", 777)
	count(live.objections) == 0 with input as subjects.without(younger, ["/lineage/peers"])
	count(live.objections) == 1 with input as subjects.without(younger, ["/lineage/peers", "/host/orphan_parents"])
	handed := subjects.changed(subjects.runaway, "/process/ppid", 1)
	count(live.objections) == 0 with input as subjects.changed(handed, "/lineage/peers", [{"pid": 77, "name": "claude"}])
}

test_an_editors_tab_is_in_use_while_its_process_lives if {
	every tab in subjects.editor_tabs {
		count(live.objections) == 0 with input as tab
	}
	subjects.reasons(live.objections) == ["its process (4711) lives"] with input as subjects.changed(subjects.editor_tab, "/shown/ended", false)
}

test_a_builders_tab_is_in_use_while_its_builder_is_there if {
	subjects.reasons(live.objections) == ["its builder builder-pir-883 is on record"] with input as subjects.changed(subjects.builder_tab, "/shown/recorded", true)
	subjects.reasons(live.objections) == ["the worktree of its builder builder-pir-883 is there"] with input as subjects.changed(subjects.builder_tab, "/shown/worktree", true)
}

test_what_is_not_known_of_an_editors_tab_is_use if {
	unknown := ["whether what it was opened for has ended is not known"]
	subjects.reasons(live.objections) == unknown with input as subjects.without(subjects.editor_tab, ["/shown/ended"])
	subjects.reasons(live.objections) == unknown with input as subjects.without(subjects.editor_tab, ["/tab/editor/pid"])
	subjects.reasons(live.objections) == unknown with input as subjects.without(subjects.builder_tab, ["/shown/recorded"])
	subjects.reasons(live.objections) == unknown with input as subjects.without(subjects.builder_tab, ["/shown/worktree"])
	subjects.reasons(live.objections) == unknown with input as subjects.without(subjects.builder_tab, ["/tab/editor/codev"])
}

test_a_process_that_was_meant_to_go_on_stays if {
	every shown, why in {
		"hangup": "it ignores SIGHUP, as after nohup",
		"nohup": "nohup started it",
		"systemd-run": "systemd-run started it",
		"at": "at started it",
		"multiplexer": "a terminal multiplexer started it",
	} {
		message := $"it, or a process below it, was meant to outlive what started it ({why}); end it yourself when it is no longer wanted"
		subjects.reasons(live.objections) == [message] with input as subjects.changed(subjects.process, "/lineage/intent", [shown])
	}
	every candidate in [subjects.runaway, subjects.left_in_pane, subjects.deleted, subjects.leaked, subjects.duplicate] {
		count(live.objections) == 0 with input as candidate
		count(live.objections) == 1 with input as subjects.changed(candidate, "/lineage/intent", ["hangup"])
	}
}

test_a_process_that_is_connected_stays if {
	subjects.reasons(live.objections) == ["it, or a process below it, has open connections (2)"] with input as subjects.changed(subjects.process, "/lineage/connections", 2)
}

test_a_process_that_writes_stays if {
	wrote := json.patch(subjects.process, [{"op": "add", "path": "/lineage/writes_files", "value": 1}, {"op": "add", "path": "/lineage/output", "value": 600}])
	subjects.reasons(live.objections) == ["it, or a process below it, wrote to a file 10m ago; it waits for 30m"] with input as wrote
	count(live.objections) == 0 with input as subjects.changed(wrote, "/lineage/output", 1800)
}

test_a_process_of_which_that_is_not_known_stays if {
	every path in ["/lineage/intent", "/lineage/connections", "/lineage/writes_files"] {
		subjects.reasons(live.objections) == ["whether it was meant to go on, is connected to anything or writes a file is not known"] with input as subjects.without(subjects.process, [path])
	}
	count(live.objections) == 2 with input as subjects.without(subjects.process, ["/lineage"])
}

test_an_open_session_keeps_the_folder_in_which_it_works if {
	_says([{"agent": "codex", "id": "t-1", "pid": 24, "name": "codex", "folder": "/w/feature"}]) == ["codex has a session open that works in it, by its own record"]
	_says([{"agent": "codex", "pid": 24, "name": "codex"}]) == ["codex (24) has a session open, and in which worktree it works is not known: it may be this one. End that session, or start one whose record can be read"]
	_says([{"agent": "codex", "id": "t-1"}]) == ["codex has a session open, and in which worktree it works is not known: it may be this one"]
	_says([]) == []
	subjects.reasons(live.objections) == ["whether an agent has a session open that works in it is not known"] with input as subjects.without(subjects.dir, ["/open"])
}

_says(open) := said if {
	# regal ignore:with-outside-test-context
	said := subjects.reasons(live.objections) with input as subjects.changed(subjects.dir, "/open", open)
}
