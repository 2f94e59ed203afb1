# METADATA
# title: Kinds of candidate
# description: Leads from what a candidate is to the folders below policies/reap that its rules stand in.
package policies.lib.kinds

_folders := {
	"dir": {"content", "dirs"},
	"process": {"processes"},
	"session": {"sessions"},
	"tab": {"tabs"},
	"terminal": {"terminals"},
}

# The folders of the candidate's kind; undefined for an input that is no subject.
folders := _folders[input.kind]
