package policies.reap.sessions.agent_left_test

import data.policies.lib.subjects_test as subjects
import data.policies.reap.sessions.agent_left

_left := object.union(subjects.session, {
	"session": {"name": "fix-login", "panes": [object.union(subjects.idle_pane, {"started_as": "claude"})]},
	"shells": [{"pane": "%5", "pid": 812, "markers": [], "agents": 1}],
	"idle": 3600,
})

# A shell that an orchestrator began, by the name that it gave its session.
_named := json.patch(_left, [
	{"op": "replace", "path": "/session/name", "value": "aoe_fix-login_1a2b3c4d"},
	{"op": "replace", "path": "/session/panes/0/started_as", "value": ""},
])

_finding := ["an agent began it and is gone, and nothing has happened in it for 1h"]

_with(path, value) := json.patch(_left, [{"op": "add", "path": path, "value": value}])

test_a_session_that_was_started_with_an_agent_goes if {
	agent_left.in_scope with input as _left
	subjects.reasons(agent_left.findings) == _finding with input as _left
}

test_a_session_whose_shell_ran_lately_stays if {
	count(agent_left.findings) == 0 with input as _with("/session/panes/0/session/0/rest/seconds", 3599)
	count(agent_left.findings) == 0 with input as subjects.without(_left, ["/session/panes/0/session/0/rest"])
}

test_a_session_with_a_marker_of_a_dead_agent_goes if {
	marked := object.union(_with("/session/panes/0/started_as", ""), {})
	subjects.reasons(agent_left.findings) == _finding with input as json.patch(marked, [
		{"op": "add", "path": "/shells/0/markers", "value": ["CLAUDE_CODE_SESSION_ID"]},
		{"op": "add", "path": "/shells/0/agents", "value": 0},
	])
}

test_a_marker_of_an_agent_that_may_live_says_nothing if {
	every agents in [1, 2] {
		count(agent_left.findings) == 0 with input as json.patch(_with("/session/panes/0/started_as", ""), [
			{"op": "add", "path": "/shells/0/markers", "value": ["CLAUDE_CODE_SESSION_ID"]},
			{"op": "add", "path": "/shells/0/agents", "value": agents},
		])
	}
}

test_a_session_with_an_orchestrators_name_goes_where_no_client_was_ever_attached if {
	subjects.reasons(agent_left.findings) == _finding with input as _named
	count(agent_left.findings) == 0 with input as subjects.changed(_named, "/session/name", "my_aoe_fix")
	count(agent_left.findings) == 0 with input as subjects.changed(_named, "/session/ever_attached", true)
	every path in ["/session/ever_attached", "/session/name", "/config/tool_sessions", "/session/panes/0/session/0/rest"] {
		count(agent_left.findings) == 0 with input as subjects.without(_named, [path])
	}
}

test_a_persons_shell_is_out_of_scope if {
	not agent_left.in_scope with input as _with("/session/panes/0/started_as", "")
}

# The shell beside it has no sign of its own.
_beside := json.patch(_left, [
	{"op": "add", "path": "/session/panes/1", "value": object.union(subjects.idle_pane, {"id": "%6", "started_as": "", "cwd": "/w/.worktrees/x"})},
	{"op": "add", "path": "/shells/1", "value": {"pane": "%6", "pid": 813, "markers": [], "agents": 0}},
])

test_a_session_that_began_with_an_agent_goes_with_what_is_in_a_worktree_where_no_client_showed_it if {
	subjects.reasons(agent_left.findings) == _finding with input as _beside
	count(agent_left.findings) == 0 with input as subjects.changed(_beside, "/session/ever_attached", true)
	count(agent_left.findings) == 0 with input as subjects.changed(_beside, "/session/group", "acme")
	count(agent_left.findings) == 0 with input as subjects.changed(_beside, "/session/panes/1/cwd", "/w/acme") # a person's
	every path in ["/session/ever_attached", "/session/group", "/session/panes/1/id", "/session/panes/0/id", "/session/panes/0/started_as", "/session/panes/1/cwd"] {
		count(agent_left.findings) == 0 with input as subjects.without(_beside, [path])
	}
}

test_an_agent_in_a_later_pane_says_nothing_of_the_first if {
	count(agent_left.findings) == 0 with input as subjects.changed(_beside, "/session/panes/1/id", "%4")
}

# A shell in a worktree that was deleted.
_deleted := json.patch(_left, [
	{"op": "replace", "path": "/session/panes/0/started_as", "value": ""},
	{"op": "replace", "path": "/session/panes/0/cwd", "value": "/w/.worktrees/x (deleted)"},
	{"op": "add", "path": "/session/panes/0/cwd_deleted", "value": true},
])

test_a_shell_in_a_deleted_worktree_goes_where_no_client_showed_it if {
	subjects.reasons(agent_left.findings) == _finding with input as _deleted
	not agent_left.in_scope with input as subjects.changed(_deleted, "/session/panes/0/cwd_deleted", false)
	not agent_left.in_scope with input as subjects.changed(_deleted, "/session/panes/0/cwd", "/w/worktrees (deleted)")
	not agent_left.in_scope with input as subjects.changed(_deleted, "/session/ever_attached", true)
	not agent_left.in_scope with input as subjects.changed(_deleted, "/session/group", "acme")
	every path in ["/session/panes/0/cwd_deleted", "/session/panes/0/cwd", "/session/ever_attached"] {
		not agent_left.in_scope with input as subjects.without(_deleted, [path])
	}
}

test_what_runs_in_it_keeps_it if {
	count(agent_left.findings) == 0 with input as _with("/session/panes/0/foreground/0/name", "vim")
}

test_a_session_that_was_used_lately_stays if {
	count(agent_left.findings) == 0 with input as _with("/idle", 60)
}

test_a_dead_pane_beside_an_idle_shell_goes_with_it if {
	beside := _with("/session/panes/1", object.union(subjects.dead_pane("%6"), {"started_as": "claude", "cwd": "/w/x"}))
	subjects.reasons(agent_left.findings) == _finding with input as beside
	every path in ["/session/panes/1/dead", "/session/panes/1/carriers", "/session/panes/1/session"] {
		count(agent_left.findings) == 0 with input as subjects.without(beside, [path])
	}
}

test_what_is_not_known_keeps_it if {
	every path in ["/session/panes/0/started_as", "/idle", "/session/panes/0/foreground"] {
		count(agent_left.findings) == 0 with input as json.patch(_left, [{"op": "remove", "path": path}])
	}
	count(agent_left.findings) == 0 with input as json.patch(_with("/session/panes/0/started_as", ""), [
		{"op": "add", "path": "/shells/0/markers", "value": ["CLAUDE_CODE_SESSION_ID"]},
		{"op": "remove", "path": "/shells/0/agents"},
	])
}
