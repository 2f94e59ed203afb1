package policies.reap.sessions.dead_test

import data.policies.lib.subjects_test as subjects
import data.policies.reap.sessions.dead

# A person's session, or a program's, that was kept.
_kept := object.union(subjects.session, {
	"session": {"name": "nightly", "panes": [object.union(subjects.dead_pane("%5"), {"started_as": ""})]},
	"idle": 86400,
})

# An agent's, that has ended lately.
_agents := json.patch(_kept, [
	{"op": "replace", "path": "/session/panes/0/started_as", "value": "claude"},
	{"op": "replace", "path": "/idle", "value": 3600},
])

test_what_was_kept_for_a_day_goes if {
	dead.in_scope with input as _kept
	subjects.reasons(dead.findings) == ["all that ran in it has ended, and nothing has happened in it for 1d"] with input as _kept
	count(dead.findings) == 0 with input as subjects.changed(_kept, "/idle", 86399)
}

test_what_an_agent_left_waits_for_no_day if {
	subjects.reasons(dead.findings) == ["all that ran in it has ended, and nothing has happened in it for 1h"] with input as _agents
	count(dead.findings) == 0 with input as subjects.changed(_agents, "/idle", 3599)
	count(dead.findings) == 0 with input as subjects.without(_agents, ["/session/panes/0/started_as"])
}

test_an_orchestrators_name_waits_for_no_day if {
	named := subjects.changed(subjects.changed(_kept, "/idle", 3600), "/session/name", "aoe_fix_1a2b3c4d")
	count(dead.findings) == 1 with input as named
	count(dead.findings) == 0 with input as subjects.changed(named, "/session/ever_attached", true)
	count(dead.findings) == 0 with input as subjects.without(named, ["/session/ever_attached"])
}

test_a_short_landed_after_shortens_nothing if {
	short := subjects.changed(_kept, "/config/landed_after", 0)
	count(dead.findings) == 1 with input as subjects.changed(short, "/idle", 3600)
	count(dead.findings) == 0 with input as subjects.changed(short, "/idle", 3599)
}

test_a_living_pane_beside_it_keeps_it if {
	every pane in [subjects.idle_pane, object.union(subjects.idle_pane, {"foreground": [{"pid": 900, "name": "vim"}]})] {
		both := subjects.changed(_kept, "/session/panes/1", object.union(pane, {"id": "%6"}))
		count(dead.findings) == 0 with input as both
		not dead.in_scope with input as both
	}
}

test_what_runs_on_elsewhere_keeps_it if {
	count(dead.findings) == 0 with input as subjects.changed(_kept, "/session/panes/0/carriers", [{"pid": 900, "name": "node"}])
}

test_a_session_without_panes_is_out_of_scope if not dead.in_scope with input as subjects.changed(_kept, "/session/panes", [])

test_what_is_not_known_keeps_it if {
	every path in ["/idle", "/session/panes/0/dead", "/session/panes/0/carriers", "/session/panes/0/session_pids", "/session/panes", "/session", "/config/session_idle", "/config/landed_after", "/kind"] {
		count(dead.findings) == 0 with input as subjects.without(_kept, [path])
	}
}
