package policies.lib.levels_test

import data.policies.lib.levels

test_every_kind_has_its_folders if {
	every kind, folders in {
		"dir": {"content", "dirs"},
		"process": {"processes"},
		"session": {"sessions"},
		"tab": {"tabs"},
		"terminal": {"terminals"},
	} {
		levels.folders == folders with input as {"kind": kind}
	}
}

test_anything_else_has_none if {
	not levels.folders with input as {"kind": "ship"}
	not levels.folders with input as {}
}
