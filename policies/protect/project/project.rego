# METADATA
# title: Project
# description: Keeps what a repository asks to keep in its own file, once you trusted that file.
# custom:
#   kinds: all
#   summary: {rank: 31, group: kept by their project}
package policies.protect.project

import data.policies.lib.levels

# METADATA
# title: Its project keeps it
# description: A path of the project's own file matches where the candidate lies or what may lie in the folder.
objections contains {
	"message": $"its project keeps it: {project.path}",
	"evidence": {"file": $"{project.file}", "globs": globs, "reasons": [keep.reason | some keep in project.keeps]},
} if {
	some i, project in input.projects
	i in _placed
	not i in _not_matched
	globs := [keep.glob | some keep in project.keeps]
}

# METADATA
# title: It may lie in a project that keeps things
# description: Where the candidate is could not be read, and the project's own file keeps things.
objections contains {
	"message": $"whether it lies in a project that keeps things is not known: {project.path}",
	"evidence": {"file": $"{project.file}"},
} if {
	some i, project in input.projects
	not i in _placed
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

# The projects in which the candidate is known to lie.
_placed contains i if {
	some i, project in input.projects
	count(project.places) > 0
}

# The projects that keep nothing where the candidate lies.
_not_matched contains i if {
	input.kind != "dir"
	some i in _clear
}

_not_matched contains i if {
	input.kind == "dir"
	some i, project in input.projects
	i in _clear
	every place in project.places {
		every folder in project.above {
			glob.match(folder, ["/"], place) == false
		}
	}
}

_clear contains i if {
	some i, project in input.projects
	every place in project.places {
		every keep in project.keeps {
			place != keep.glob
			glob.match(keep.glob, ["/"], place) == false
			glob.match(concat("", [keep.glob, "/**"]), ["/"], place) == false
		}
	}
}

# The projects that leave at least one of the reasons standing.
_standing contains i if {
	some i, project in input.projects
	some rule in levels.counting
	every off in project.off {
		off != rule
	}
}
