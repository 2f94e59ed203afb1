package policies.lib.kinds_test

import data.policies.lib.kinds

test_every_kind_has_a_folder if {
	every kind, folder in {"dir": "dirs", "process": "processes", "session": "sessions", "tab": "tabs", "terminal": "terminals"} {
		kinds.plural == folder with input as {"kind": kind}
	}
}

test_anything_else_has_none if {
	not kinds.plural with input as {"kind": "ship"}
	not kinds.plural with input as {}
}
