// Package git reads what git keeps on disk about a repository and its worktrees.
//
// What can be read from files is read from files; git itself is asked at most twice a repository, however many
// worktrees it has, once more for each worktree whose content is asked for, and a few times where it matters how work
// has landed (package landing). Nothing is written to a repository: not an index, not a ref, not a lock. What a
// repository says is written by everyone who works in it, agents among them, so git is run in a git folder of our own
// (gitsafe) and never reads the repository's configuration, nor the user's.
package git

import "errors"

// ErrNone says that a folder is known not to be a git repository: it has no .git, and is not a bare one.
var ErrNone = errors.New("no git repository")

// maxSymrefs is how many symbolic references are followed, as in git (SYMREF_MAXDEPTH).
const maxSymrefs = 5

// Sizes above which a file is not what it claims to be, in bytes.
const (
	maxSmall  = 64 << 10
	maxReflog = 64 << 20
	maxRefs   = 256 << 20
	maxIndex  = 512 << 20
)
