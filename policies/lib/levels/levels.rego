# METADATA
# title: Levels of rules
# description: >-
#   What the operator made of each rule (rules.levels in config.yaml). A rule that is not listed for the candidate's
#   kind is on. A word that is not known counts as observe, so that such a rule never reaps.
package policies.lib.levels

_folders := {
	"dir": {"content", "dirs"}, "process": {"processes"}, "session": {"sessions"}, "tab": {"tabs"},
	"terminal": {"terminals"},
}

# The folders below policies/reap of the candidate's kind; undefined for an input that is no subject.
folders := _folders[input.kind]

# Whether the input says which rules are not on.
known if is_array(input.config.levels)

# Rules that are off for candidates of this kind.
off contains entry.rule if {
	some entry in _listed
	entry.level == "off"
}

# Rules whose findings are left for a person. For the one candidate that a person asked for by name they are on.
ask contains entry.rule if {
	some entry in _listed
	entry.level == "ask"
	not input.asked
}

# Rules whose findings are reported and never carried out.
observe contains entry.rule if {
	some entry in _listed
	not entry in _others
}

_listed contains entry if {
	some entry in input.config.levels
	entry.kind == input.kind
}

_others contains entry if {
	some entry in _listed
	entry.level in {"ask", "off"}
}

_found contains rule if {
	some folder in folders
	some name
	count(data.policies.reap[folder][name].findings) > 0
	rule := $"reap.{folder}.{name}"
	not rule in off
}

_by_level := {"on": (_found - ask) - observe, "ask": _found & ask, "observe": _found}

# The highest level among the rules that found a reason; undefined where none did.
level := [word | some word in ["on", "ask", "observe"]; count(_by_level[word]) > 0][0]

# The rules of that level. What is carried out, and what is waited for, goes by them alone.
default counting := set()

counting := _by_level[level]
