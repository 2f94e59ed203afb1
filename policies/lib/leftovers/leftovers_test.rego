package policies.lib.leftovers_test

import data.policies.lib.leftovers
import data.policies.lib.subjects_test as subjects

test_a_server_of_an_agent_that_is_gone_is_left_over if {
	leftovers.pids == {990} with input as subjects.littered
	leftovers.alone with input as subjects.left_in_pane
}

test_what_is_not_positively_left_over_is_not if {
	every path, value in {
		"/how": "elsewhere",
		"/process/ppid": 812,
		"/process/pgid": 812,
		"/process/foreground_pgid": -1,
		"/process/uid": 1001,
		"/process/state": "R",
		"/process/listening": [3000],
		"/lineage/sockets": ["/run/x"],
		"/lineage/added": [],
		"/lineage/family": "dev-server",
		"/lineage/is_agent": true,
		"/lineage/agents": 1,
		"/lineage/agent_ancestor": true,
		"/lineage/agent_below": true,
		"/lineage/listener_below": true,
	} {
		leftovers.pids == set() with input as subjects.changed(subjects.littered, concat("", ["/members/0", path]), value)
	}
}

test_what_is_not_known_is_not_left_over if {
	every path in [
		"/how", "/process", "/process/ppid", "/process/pgid", "/process/foreground_pgid", "/process/uid", "/process/state", "/process/listening",
		"/lineage/sockets", "/lineage", "/lineage/added", "/lineage/family", "/lineage/is_agent", "/lineage/agents", "/lineage/agent_ancestor",
		"/lineage/agent_below", "/lineage/listener_below",
	] {
		leftovers.pids == set() with input as subjects.without(subjects.littered, [concat("", ["/members/0", path])])
	}
	leftovers.pids == set() with input as subjects.without(subjects.littered, ["/host/orphan_parents"])
}

test_what_looks_saw_below_an_agent_needs_no_marker if {
	bare := subjects.without(subjects.left_in_pane, ["/lineage/added"])
	not leftovers.alone with input as bare
	not leftovers.alone with input as subjects.changed(bare, "/lineage/seen_gone", false)
	leftovers.alone with input as subjects.changed(bare, "/lineage/seen_gone", true)
}

test_a_server_that_is_judged_by_itself_must_be_alone_and_in_the_background if {
	every path, value in {
		"/lineage/descendants": 1,
		"/lineage/added": [],
		"/lineage/family": "build-tool",
		"/lineage/agents": 1,
		"/process/ppid": 777,
		"/process/pgid": 700,
		"/process/foreground_pgid": -1,
		"/process/state": "R",
		"/process/listening": [3000],
		"/lineage/sockets": ["@x"],
		"/process/uid": 1001,
	} {
		not leftovers.alone with input as subjects.changed(subjects.left_in_pane, path, value)
	}
}

# npm exec, the shell that it starts and the server.
_run := json.patch(subjects.littered, [
	{"op": "add", "path": "/members/0/process/ppid", "value": 989},
	{"op": "add", "path": "/members/1", "value": _member(989, "sh", 988, "")},
	{"op": "add", "path": "/members/2", "value": _member(988, "npm exec @model", 1, "package-runner")},
])

_member(pid, name, parent, family) := object.union(subjects.leftover, {
	"pid": pid,
	"name": name,
	"process": {"pid": pid, "name": name, "ppid": parent},
	"lineage": {"family": family},
})

test_what_a_server_was_started_through_is_left_over_with_it if {
	leftovers.pids == {988, 989, 990} with input as _run
	leftovers.pids == {989, 990} with input as json.patch(_run, [
		{"op": "add", "path": "/members/1/process/ppid", "value": 1},
		{"op": "remove", "path": "/members/2"},
	])
}

test_what_is_spoken_with_is_in_use if {
	leftovers.pids == set() with input as subjects.changed(subjects.littered, "/members/0/lineage/peers", [{"pid": 77, "name": "claude"}])
	leftovers.pids == set() with input as subjects.without(subjects.littered, ["/members/0/lineage/peers"])
	leftovers.pids == {988, 989, 990} with input as subjects.changed(_run, "/members/0/lineage/peers", [{"pid": 988, "name": "npm exec @model"}])
	leftovers.pids == {988, 989} with input as subjects.changed(_run, "/members/0/lineage/peers", [{"pid": 988, "name": "npm exec @model"}, {"pid": 77, "name": "claude"}])
}

test_a_runner_of_anything_else_is_not if {
	leftovers.pids == set() with input as subjects.without(_run, ["/members/0/lineage/family"])
	leftovers.pids == set() with input as subjects.changed(_run, "/members/2/process/ppid", 812)
	leftovers.pids == set() with input as subjects.changed(_run, "/members/1/process/name", "node")
	leftovers.pids == set() with input as subjects.changed(_run, "/members/2/lineage/family", "worker")
	leftovers.pids == set() with input as subjects.changed(_run, "/members/2/lineage/agents", 1)
}
