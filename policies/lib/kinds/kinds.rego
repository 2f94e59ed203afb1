# METADATA
# title: Kinds of candidate
# description: Leads from what a candidate is to the folder below policies/reap that its rules stand in.
package policies.lib.kinds

_plurals := {
	"dir": "dirs",
	"process": "processes",
	"session": "sessions",
	"tab": "tabs",
	"terminal": "terminals",
}

# METADATA
# title: Plural
# description: The folder of the candidate's kind; undefined for an input that is no subject.
plural := _plurals[input.kind]
