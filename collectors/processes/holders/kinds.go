package holders

import "slices"

// The ways to hold a folder, as indices of kinds: the strongest first.
const (
	byCwd = iota
	byExe
	byRoot
	byThread
	byFD
	byMap
	bySocket
	byLock
	byAdmin
	byArgv
	byEnviron
	byWatch
	byLink
	byOverlay
	byMount
	byLoop
	bySwap
)

// kinds are the words for them.
var kinds = [...]string{
	byCwd:     "cwd",     // it works in it
	byExe:     "exe",     // it was started from it
	byRoot:    "root",    // its root folder is in it
	byThread:  "thread",  // one of its threads works in it, or has a file there open that the others have not
	byFD:      "fd",      // it has a file or folder in it open
	byMap:     "map",     // it has a file in it mapped, such as a library
	bySocket:  "socket",  // it has a unix socket that is bound in it
	byLock:    "lock",    // it has a lock on a file in it
	byAdmin:   "admin",   // it uses the folder that git keeps for the worktree, or works in another checkout that leads there
	byArgv:    "argv",    // its command line names what lies in it, such as a script
	byEnviron: "env",     // its environment leads git, or the search for programs and libraries, into it
	byWatch:   "watch",   // it asked the kernel to report changes in it
	byLink:    "link",    // it has a file open that has another name in it
	byOverlay: "overlay", // a mount that it sees is made of what lies in it
	byMount:   "mount",   // a mount that it sees leads into it
	byLoop:    "loop",    // a loop device shows a file in it
	bySwap:    "swap",    // the kernel swaps to a file in it
}

// Kinds lists the words for how a folder is used, the strongest first.
func Kinds() []string { return slices.Clone(kinds[:]) }

// idle reports whether a way of holding a folder says nothing of a daemon: it was started there, or asked to be notified of changes. What it
// has open is in use, and what works for it below is a process of its own.
func idle(how int) bool {
	return slices.Contains([]int{byCwd, byThread, byArgv, byEnviron, byWatch}, how)
}
