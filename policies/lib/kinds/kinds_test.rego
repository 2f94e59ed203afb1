package policies.lib.kinds_test

import data.policies.lib.kinds

test_every_kind_has_its_folders if {
	every kind, folders in {
		"dir": {"content", "dirs"},
		"process": {"processes"},
		"session": {"sessions"},
		"tab": {"tabs"},
		"terminal": {"terminals"},
	} {
		kinds.folders == folders with input as {"kind": kind}
	}
}

test_anything_else_has_none if {
	not kinds.folders with input as {"kind": "ship"}
	not kinds.folders with input as {}
}
