package policies.observe.worker_test

import data.policies.lib.subjects_test as subjects
import data.policies.observe.worker

_safe := {
	"kind": "session",
	"config": subjects.config,
	"made": 9000,
	"entries": [{"source": "registry/kapi", "id": "w7", "status": "completed", "terminal": true, "session": "worker-7", "ended": 60}],
	"session": {"name": "worker-7", "attached": 0},
	"worker": {
		"format": "kapi", "live": ["session:tmux/default/$4"], "registry_read": true, "tmux_read": true, "holds_read": true,
		"unread_tmux": "", "unread_registry": "",
	},
}

test_a_worker_that_is_over_and_that_nobody_keeps_may_be_closed if {
	worker.observed.observation == "safe_to_close" with input as _safe
	not worker.cleanup with input as _safe
	not worker.retain with input as _safe
}

test_what_is_not_known_to_be_read_makes_it_unknown if {
	every fact in ["registry_read", "tmux_read", "holds_read", "unread_tmux", "unread_registry"] {
		worker.observed.observation == "unknown" with input as json.remove(_safe, [concat("/", ["worker", fact])])
		worker.cleanup.reason == "unreadable" with input as json.remove(_safe, [concat("/", ["worker", fact])])
	}
}

test_a_record_that_does_not_say_that_it_is_over_closes_nothing if {
	every path in ["entries/0/terminal", "entries/0/status", "entries/0/session", "entries/0", "entries", "worker", "made"] {
		not _closes with input as object.union(json.remove(_safe, [path]), {"config": {"terminal_statuses": [], "over_statuses": [{"format": "kapi", "statuses": ["completed"]}]}})
	}
}

_closes if worker.observed.observation == "safe_to_close"

test_a_hold_or_a_mark_keeps_it if {
	worker.observed.observation == "retained" with input as object.union(_safe, {"hold": {}})
	worker.cleanup.then == {} with input as object.union(_safe, {"hold": {}})
	marked := json.patch(_safe, [{"op": "add", "path": "/entries/0/retained", "value": true}])
	worker.observed.observation == "retained" with input as marked
	worker.cleanup == {
		"reason": "retained",
		"message": "worker w7 of registry/kapi is retained, and has to be released first: it has ended, and a registry marks its session as retained",
		"then": {"next": "let_go", "keeper": 0},
	} with input as marked
}
