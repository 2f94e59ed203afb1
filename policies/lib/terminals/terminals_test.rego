package policies.lib.terminals_test

import data.policies.lib.subjects_test as subjects
import data.policies.lib.terminals

_rest := {"seconds": 3, "woke": false}

_below(terminal, names) := subjects.changed(terminal, "/terminal/below", [{"pid": 6102 + i, "name": name, "rest": _rest} | some i, name in names])

# Shells that take commands from a person, and one program more.
_shells(terminal, names, more) := subjects.changed(terminal, "/terminal/below", array.concat(
	[{"pid": 6102 + i, "name": name, "interactive": true, "rest": _rest} | some i, name in names],
	more,
))

_busy(terminal) := subjects.changed(terminal, "/idle", 599)

test_what_may_be_a_shell_must_rest if {
	woken := subjects.changed(subjects.terminal, "/terminal/below", [{"pid": 6102, "name": "bash", "interactive": true, "rest": {"seconds": 40, "woke": true}}])
	not terminals.no_work with input as woken
	not terminals.no_work with input as subjects.without(woken, ["/terminal/below/0/name"])
	not terminals.no_work with input as subjects.without(woken, ["/config/shells"])
	not terminals.no_work with input as subjects.changed(woken, "/terminal/below/0/name", "")
	terminals.no_work with input as subjects.changed(woken, "/terminal/below/0/rest/woke", false)
	terminals.no_work with input as subjects.changed(woken, "/terminal/below", [{"pid": 6102, "name": "node"}])
}

test_builders_and_their_servers_are_a_builders if {
	terminals.of_builder with input as subjects.terminal
	terminals.of_builder with input as subjects.server
	every kind in ["architect", "shell", "shellper", "Builder", ""] {
		not terminals.of_builder with input as subjects.changed(subjects.terminal, "/terminal/role_kind", kind)
	}
	every terminal in [subjects.terminal, subjects.server] {
		not terminals.of_builder with input as subjects.changed(terminal, "/kind", "tab")
	}
}

test_a_builder_that_is_gone_leaves_its_terminals_ownerless if {
	terminals.ownerless with input as subjects.terminal
	terminals.ownerless with input as subjects.server
	not terminals.ownerless with input as subjects.exited
	not terminals.ownerless with input as subjects.shellper
}

test_a_worktree_that_is_registered_no_more_is_gone_too if {
	deregistered := json.patch(subjects.terminal, [
		{"op": "add", "path": "/terminal/owner/gone", "value": false},
		{"op": "add", "path": "/terminal/owner/unregistered", "value": true},
	])
	terminals.ownerless with input as deregistered
	terminals.worktree_left == "no longer registered" with input as deregistered
	terminals.worktree_left == "gone" with input as subjects.terminal
}

test_a_worktree_that_is_there_keeps_its_owner if {
	not terminals.ownerless with input as subjects.changed(subjects.terminal, "/terminal/owner/gone", false)
	not terminals.ownerless with input as json.patch(subjects.terminal, [
		{"op": "add", "path": "/terminal/owner/gone", "value": false},
		{"op": "add", "path": "/terminal/owner/unregistered", "value": false},
	])
}

test_it_does_not_matter_how_the_owner_is_known_if_it_is if {
	every how in ["row", "label", "memory"] {
		terminals.ownerless with input as subjects.changed(subjects.terminal, "/terminal/owner/how", how)
	}
	every how in ["", "guess"] {
		not terminals.ownerless with input as subjects.changed(subjects.terminal, "/terminal/owner/how", how)
	}
	not terminals.ownerless with input as subjects.changed(subjects.terminal, "/terminal/owner/id", "")
}

test_a_missing_fact_makes_nobody_ownerless if {
	every path in ["/terminal/owner", "/terminal/owner/id", "/terminal/owner/how", "/terminal/owner/recorded", "/terminal/owner/gone", "/terminal/role_kind", "/terminal", "/kind"] {
		not terminals.ownerless with input as subjects.without(subjects.terminal, [path])
	}
}

test_an_exited_terminal_may_keep_its_shellper if {
	terminals.exited with input as subjects.exited
	terminals.exited with input as subjects.ended
	not terminals.ended with input as subjects.exited
	not terminals.exited with input as _below(subjects.exited, ["make"])
}

test_one_that_runs_has_not_exited if {
	every status in ["running", "Exited", ""] {
		not terminals.exited with input as subjects.changed(subjects.exited, "/terminal/status", status)
		not terminals.exited with input as subjects.changed(subjects.ended, "/terminal/status", status)
	}
}

test_half_a_process_has_not_ended if {
	every path, value in {"/terminal/pid": 6101, "/terminal/start_ticks": 610100, "/terminal/started_at": "2026-11-20T12:00:00Z", "/terminal/below": [], "/terminal/error": "read pid 6101: permission denied"} {
		not terminals.exited with input as subjects.changed(subjects.ended, path, value)
	}
}

test_a_process_below_which_nothing_is_known_is_not_childless if {
	every path in ["/terminal/pid", "/terminal/below"] {
		not terminals.childless with input as subjects.without(subjects.shellper, [path])
	}
	terminals.childless with input as subjects.shellper
}

test_silence_is_known_and_long_enough if {
	terminals.quiet with input as subjects.changed(subjects.terminal, "/idle", 600)
	not terminals.quiet with input as subjects.changed(subjects.terminal, "/idle", 599)
	every path in ["/idle", "/config/terminal_idle"] {
		not terminals.quiet with input as subjects.without(subjects.terminal, [path])
	}
}

test_a_server_is_no_agent if {
	every names in [["node"], ["npm", "sh", "go"], []] {
		terminals.no_work with input as _busy(_below(subjects.server, names))
	}
}

test_an_agent_in_a_servers_terminal_is_at_work if {
	every names in [["claude"], ["claude.exe"], ["node", "codex"], [""]] {
		not terminals.no_work with input as _busy(_below(subjects.server, names))
		terminals.no_work with input as _below(subjects.changed(subjects.server, "/idle", 600), names)
	}
}

test_an_agents_name_is_compared_as_the_kernel_keeps_it if {
	long := subjects.changed(subjects.server, "/config/agents", ["an-agent-of-mine-2"])
	not terminals.no_work with input as _below(long, ["an-agent-of-min"])
	terminals.no_work with input as _below(long, ["an-agent-of-mi"])
	terminals.no_work with input as _below(long, ["an-agent-of-maa"])
	terminals.no_work with input as _below(subjects.server, ["claud"])
}

test_an_agent_that_an_interpreter_runs_is_at_work_in_a_servers_terminal if {
	not terminals.no_work with input as _busy(subjects.changed(subjects.server, "/lineage/agent_below", true))
	not terminals.no_work with input as _busy(subjects.without(subjects.server, ["/lineage/agent_below"]))
	not terminals.no_work with input as _busy(subjects.without(subjects.server, ["/lineage"]))
}

test_in_a_builders_terminal_any_program_may_be_its_agent if {
	every names in [["claude"], ["bash", "node"], ["bash", "2.1.201"], [""]] {
		not terminals.no_work with input as _busy(_below(subjects.terminal, names))
		terminals.no_work with input as _below(subjects.terminal, names)
	}
}

test_a_shell_and_its_prompts_helpers_are_no_agent if {
	every names in [["bash"], ["sh", "zsh"], []] {
		terminals.no_work with input as _busy(_shells(subjects.terminal, names, []))
		terminals.no_work with input as _busy(_shells(subjects.terminal, names, [{"pid": 6150, "name": "gitstatusd"}]))
	}
}

test_a_script_in_a_builders_terminal_may_be_about_to_start_its_agent if {
	every script in [{"pid": 6150, "name": "bash", "interactive": false, "rest": _rest}, {"pid": 6150, "name": "bash", "rest": _rest}] {
		every names in [["bash"], []] {
			not terminals.no_work with input as _busy(_shells(subjects.terminal, names, [script]))
			terminals.no_work with input as _shells(subjects.terminal, names, [script])
		}
	}
	not terminals.no_work with input as _busy(_shells(subjects.terminal, ["bash"], [{"pid": 6150, "name": "make", "interactive": true}]))
}

test_a_shell_that_wakes_by_itself_is_at_work if {
	every terminal in [subjects.terminal, subjects.server] {
		waking := subjects.changed(terminal, "/terminal/below", [{"pid": 6150, "name": "bash", "interactive": true, "rest": {"seconds": 3, "woke": true}}])
		not terminals.no_work with input as waking
		not terminals.no_work with input as subjects.without(waking, ["/terminal/below/0/rest"])
		terminals.no_work with input as subjects.changed(waking, "/terminal/below/0/rest/woke", false)
	}
}

test_what_is_not_known_may_be_at_work if {
	every terminal in [subjects.terminal, subjects.server] {
		not terminals.no_work with input as subjects.without(terminal, ["/terminal/below"])
	}
	not terminals.no_work with input as subjects.without(subjects.terminal, ["/idle"])
	not terminals.no_work with input as subjects.without(subjects.server, ["/config/agents"])
	every list in ["/config/shells", "/config/prompt_daemons"] {
		not terminals.no_work with input as subjects.without(_busy(_shells(subjects.terminal, ["bash"], [{"pid": 6150, "name": "gitstatusd"}])), [list])
	}
}

test_only_what_is_ownerless_is_deserted if {
	every terminal in [subjects.terminal, subjects.server] {
		not terminals.no_work with input as subjects.changed(terminal, "/terminal/owner/recorded", true)
		not terminals.no_work with input as subjects.changed(terminal, "/terminal/owner/gone", false)
	}
}

test_everything_of_a_terminal_was_told if {
	every terminal in subjects.terminals {
		terminals.read with input as terminal
	}
}

test_an_error_is_no_telling if {
	every terminal in subjects.terminals {
		not terminals.read with input as subjects.changed(terminal, "/terminal/error", "pid 6101 is no shellper of this terminal")
	}
}

test_what_its_tower_does_not_list_must_show_whose_it_is if {
	terminals.read with input as subjects.without(subjects.terminal, ["/terminal/scoped"])
	not terminals.read with input as subjects.without(subjects.shellper, ["/terminal/scoped"])
	not terminals.read with input as subjects.changed(subjects.shellper, "/terminal/scoped", false)
}

test_a_missing_fact_is_not_told if {
	every path in ["/terminal/listed", "/terminal/pid", "/terminal/start_ticks", "/terminal/below", "/terminal"] {
		not terminals.read with input as subjects.without(subjects.terminal, [path])
	}
}
