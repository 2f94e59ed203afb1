package policies.reap.processes.leaked_server_test

import data.policies.lib.subjects_test as subjects
import data.policies.main
import data.policies.reap.processes.leaked_server

test_a_server_of_which_nothing_is_left_may_go if {
	subjects.reasons(leaked_server.findings) == ["it listens, its agent has ended, its folder was deleted, and no client is connected"] with input as subjects.leaked
	main.decision.verdict == "reap" with input as subjects.leaked
}

test_one_that_is_below_a_runner_too if {
	main.decision.verdict == "reap" with input as json.patch(subjects.leaked, [
		{"op": "add", "path": "/process/listening", "value": []},
		{"op": "add", "path": "/lineage/listener_below", "value": true},
	])
}

test_what_is_left_of_it_keeps_it if {
	every path, value in {
		"/lineage/clients": 1,
		"/process/cwd_deleted": false,
		"/lineage/starter_gone": false,
		"/lineage/agents": 1,
		"/lineage/tree_sockets": ["/run/x"],
		"/process/ppid": 777,
		"/lineage/is_agent": true,
		"/lineage/identifying": [],
		"/host/container": true,
	} {
		count(leaked_server.findings) == 0 with input as subjects.changed(subjects.leaked, path, value)
		main.decision.verdict == "spare" with input as subjects.changed(subjects.leaked, path, value)
	}
}

test_what_is_not_known_keeps_it if {
	every path in [
		"/lineage/clients", "/process/cwd_deleted", "/lineage/starter_gone", "/lineage/agents", "/lineage/tree_sockets", "/lineage/ports", "/process/ppid",
		"/lineage/is_agent", "/lineage/identifying", "/lineage/multiplexer", "/host/container", "/lineage", "/process",
	] {
		count(leaked_server.findings) == 0 with input as subjects.without(subjects.leaked, [path])
		main.decision.verdict == "spare" with input as subjects.without(subjects.leaked, [path])
	}
}

# A server on a unix socket, in a worktree that may go but for it: looks of a day found it so.
_served := json.patch(subjects.leaked, [
	{"op": "add", "path": "/process/cwd", "value": "/w/feature"},
	{"op": "add", "path": "/process/cwd_deleted", "value": false},
	{"op": "add", "path": "/process/worktree_done", "value": true},
	{"op": "add", "path": "/process/listening", "value": []},
	{"op": "add", "path": "/lineage/ports", "value": []},
	{"op": "add", "path": "/lineage/tree_sockets", "value": ["/run/x"]},
	{"op": "add", "path": "/lineage/sockets", "value": ["/run/x"]},
	{"op": "add", "path": "/sighting/first", "value": 86400},
	{"op": "add", "path": "/sighting/idle", "value": 86400},
])

test_a_server_on_a_unix_socket_goes_with_its_worktree if {
	main.decision.verdict == "reap" with input as _served
	every path, value in {"/lineage/clients": 1, "/process/worktree_done": false, "/sighting/first": 3600} {
		main.decision.verdict == "spare" with input as subjects.changed(_served, path, value)
	}
	every path in ["/lineage/clients", "/process/worktree_done", "/lineage/ports", "/lineage/tree_sockets", "/sighting"] {
		main.decision.verdict == "spare" with input as subjects.without(_served, [path])
	}
}

# Gradle's daemon stands in Gradle's own folder: looks of a day found it without a client.
_gradle := json.patch(_served, [
	{"op": "add", "path": "/process/cwd", "value": "/home/u/.gradle/daemon/8.5"},
	{"op": "add", "path": "/process/worktree_done", "value": false},
])

test_a_daemon_of_gradle_goes_without_a_client if {
	subjects.reasons(leaked_server.findings) == ["it listens, its agent has ended, a build that needs it starts another one, and no client is connected"] with input as _gradle
	main.decision.verdict == "reap" with input as _gradle
	main.decision.verdict == "reap" with input as subjects.without(_gradle, ["/process/worktree_done"])
	every path, value in {
		"/lineage/clients": 1, "/sighting/first": 3600, "/lineage/starter_gone": false, "/lineage/agents": 1,
		"/process/cwd": "/home/u/.gradle/daemon",
	} {
		main.decision.verdict == "spare" with input as subjects.changed(_gradle, path, value)
	}
	main.decision.verdict == "spare" with input as subjects.changed(_gradle, "/process/cwd", "/home/u/daemon/8.5")
	main.decision.verdict == "spare" with input as subjects.changed(_gradle, "/config/daemon_folders", ["**/.bazel/*"])
	every path in [
		"/lineage/clients", "/process/cwd", "/lineage/ports", "/lineage/tree_sockets", "/lineage/starter_gone", "/lineage/agents", "/sighting",
		"/config/daemon_folders",
	] {
		main.decision.verdict == "spare" with input as subjects.without(_gradle, [path])
	}
}

test_one_that_listens_nowhere_is_out_of_scope if {
	leaked_server.in_scope with input as subjects.leaked
	not leaked_server.in_scope with input as subjects.changed(subjects.leaked, "/lineage/ports", [])
}
