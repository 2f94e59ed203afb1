# METADATA
# title: Work in progress
# description: A worktree whose branch is called wip/... stays, also when its work has landed.
package policies.protect.wip

# METADATA
# title: The branch is work in progress
# description: Its name says so, or it is not known.
objections contains {
	"message": "its branch is work in progress, or not known",
	"evidence": {},
} if {
	input.kind == "dir"
	not _named
}

# A branch with another name.
_named if startswith(input.dir.git.branch, "refs/heads/wip/") == false

# A detached HEAD is on no branch.
_named if input.dir.git.detached == true

# No checkout of a repository.
_named if input.dir.checkout == false
