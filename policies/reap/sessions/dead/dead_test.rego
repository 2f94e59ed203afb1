package policies.reap.sessions.dead_test

import data.policies.lib.subjects_test as subjects
import data.policies.reap.sessions.dead

# An agent's session that was kept when the agent had ended.
_left := object.union(subjects.session, {
	"session": {"name": "fix-login", "panes": [object.union(subjects.dead_pane("%5"), {"started_as": "claude", "cwd": "/w/x"})]},
	"idle": 3600,
})

# The same, by the name that an orchestrator gave it.
_named := json.patch(_left, [
	{"op": "replace", "path": "/session/panes/0/started_as", "value": ""},
	{"op": "replace", "path": "/session/name", "value": "aoe_fix_1a2b3c4d"},
])

test_what_an_agent_left_goes if {
	dead.in_scope with input as _left
	subjects.reasons(dead.findings) == ["all that ran in it has ended, and nothing has happened in it for 1h"] with input as _left
	count(dead.findings) == 0 with input as subjects.changed(_left, "/idle", 3599)
}

test_what_an_orchestrator_left_goes if {
	count(dead.findings) == 1 with input as _named
	count(dead.findings) == 0 with input as subjects.changed(_named, "/session/ever_attached", true)
	count(dead.findings) == 0 with input as subjects.without(_named, ["/session/ever_attached"])
}

test_what_a_person_may_want_to_read_stays if {
	every idle in [3600, 86400, 864000] {
		persons := subjects.changed(subjects.changed(_left, "/session/panes/0/started_as", ""), "/idle", idle)
		not dead.in_scope with input as persons
		count(dead.findings) == 0 with input as persons
	}
}

test_a_living_pane_beside_it_keeps_it if {
	every pane in [subjects.idle_pane, object.union(subjects.idle_pane, {"foreground": [{"pid": 900, "name": "vim"}]})] {
		both := subjects.changed(_left, "/session/panes/1", object.union(pane, {"id": "%6", "started_as": "claude"}))
		count(dead.findings) == 0 with input as both
		not dead.in_scope with input as both
	}
}

test_what_runs_on_elsewhere_keeps_it if {
	count(dead.findings) == 0 with input as subjects.changed(_left, "/session/panes/0/carriers", [{"pid": 900, "name": "node"}])
}

test_a_session_without_panes_is_out_of_scope if not dead.in_scope with input as subjects.changed(_left, "/session/panes", [])

test_what_is_not_known_keeps_it if {
	every path in ["/idle", "/session/name", "/session/panes/0/cwd", "/session/panes/0/started_as", "/session/panes/0/dead", "/session/panes/0/carriers", "/session/panes/0/session_pids", "/session/panes", "/session", "/config/session_idle", "/kind"] {
		count(dead.findings) == 0 with input as subjects.without(_left, [path])
	}
}
