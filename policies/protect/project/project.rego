# METADATA
# title: Project
# description: Keeps what a repository asks to keep in its own file, once you trusted that file.
# custom:
#   kinds: all
#   summary: {rank: 31, group: kept by their project}
package policies.protect.project

import data.policies.lib.keeps
import data.policies.lib.levels
import data.policies.lib.reasons

# METADATA
# title: Its project keeps it
# description: An entry of the project's own file matches the candidate, or may, for want of a fact.
objections contains {
	"message": $"{_match(i, place)}: {project.path}{_why(i, place)}", "evidence": {k: v | some k, v in entry},
} if {
	some i, project in input.projects
	some place, entry in project.keeps
	not [i, place] in _silent
}

# METADATA
# title: It may lie in a project that keeps things
# description: Where the candidate is, or what the project's own file keeps, could not be read.
objections contains {
	"message": $"whether it lies in a project that keeps things is not known: {project.path}",
	"evidence": {"file": $"{project.file}"},
} if {
	some i, project in input.projects
	not i in _known
}

# METADATA
# title: Its project turns off what would reap it
# description: Every rule that found a reason is one that the project's own file turns off.
objections contains {
	"message": $"its project turns off every rule that would reap it: {project.path}",
	"evidence": {"file": $"{project.file}", "rules": [rule | some rule in levels.counting]},
} if {
	some i, project in input.projects

	# It asks for all findings, so it stands behind what costs less.
	# regal ignore:non-loop-expression
	count(levels.counting) > 0
	not i in _standing
}

# The projects that the candidate is known to lie in, and that are known to keep what they keep.
_known contains i if {
	some i, project in input.projects
	is_array(project.keeps)
}

_silent contains [i, place] if {
	some i, project in input.projects
	some place, entry in project.keeps
	entry.left <= 0
}

# It asks for all findings, so it stands behind what costs less.
_silent contains [i, place] if {
	some i, project in input.projects
	some place, entry in project.keeps
	keeps.for_other_rules(entry.rules)
}

_match(i, place) := $"it may be what its project keeps, since its {concat(", ", unknown)} is not known" if {
	unknown := input.projects[i].keeps[place].unknown
	count(unknown) > 0
} else := "its project keeps it"

_why(i, place) := reasons.or_default({$": {why}" | why := input.projects[i].keeps[place].why}, "")

# The projects that leave at least one of the reasons standing.
_standing contains i if {
	some i, project in input.projects
	some rule in levels.counting
	every off in project.off { off != rule }
}
