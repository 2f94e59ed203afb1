# METADATA
# title: Project
# description: |-
#   Keeps what a repository asks to keep in its own file, once you trusted that file.
#
#   A repository may bring `.winnow/config.yaml` in its main checkout. It says nothing until `winnow trust` has shown it to you and
#   stored what it says. Then, for folders of that repository and for processes, sessions, tabs and terminals that work in it, in
#   its main checkout or one of its linked worktrees (for a process also where what runs below it works, since that ends with it):
#
#   - what a glob of `protected` matches, what lies below that, and a folder that it may lie in;
#   - what lies at or below a path of `holds`;
#   - what only rules would reap that `levels` turns off.
#
#   A thing of which it could not be read where it is stays too, as long as any project is trusted. So does everything where the
#   list of trusted projects, or of a trusted project's worktrees, could not be read.
#
#   None in your own configuration. The file:
#
#   ```yaml
#   version: 1
#   protected: ["demo-*", "data/**"]      # * stays within one folder, ** does not; only * ** and ? are special
#   holds: [{path: bench, reason: the measurement runs until friday}]
#   levels: {reap.dirs.landed: off}       # off, and only of rules that reap
#   ```
#
#   Paths are relative to the main checkout, and never lead out of it. A worktree that lies elsewhere goes by its folder's name:
#   `demo-1`, and `demo-1/data` for what lies in it.
# custom:
#   kinds: all
#   why: |-
#     Who works on a project knows best which of its worktrees hold a demo or a measurement. But the file comes with a clone, and a
#     clone is anybody's: so it can only keep, and only after a look. What you trusted is stored in the state folder and holds until
#     you trust another content or say `winnow trust --revoke`. A pull, or an agent that can write the checkout, neither adds to it
#     nor takes from it; `winnow sweep` and `winnow doctor` say that the file is another now.
#   example: |-
#     ```
#     winnow trust ~/src/acme
#
#     dir:/home/u/wt/demo-1   spare   protect.project: its project keeps it: /home/u/src/acme
#     ```
package policies.protect.project

import data.policies.lib.levels

# METADATA
# title: Its project keeps it
# description: A path of the project's own file matches where the candidate lies or, for a folder, something that may lie in it.
objections contains {
	"rule": "protect.project",
	"message": $"its project keeps it: {project.path}",
	"evidence": {"file": $"{project.file}", "globs": [keep.glob | some keep in project.keeps], "reasons": [keep.reason | some keep in project.keeps]},
} if {
	some i, project in input.projects
	i in _placed
	not i in _untouched
}

# METADATA
# title: It may lie in a project that keeps things
# description: Where the candidate is could not be read, and the project's own file keeps things.
objections contains {
	"rule": "protect.project",
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
	"rule": "protect.project",
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
_untouched contains i if {
	input.kind != "dir"
	some i in _clear
}

_untouched contains i if {
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
