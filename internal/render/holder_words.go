package render

import (
	"fmt"
	"io"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/text"
)

// HoldsBy says in words how a process uses a folder, by the word that the snapshot has for it.
var HoldsBy = map[string]string{
	"cwd":     "works in it",
	"exe":     "was started from a file in it",
	"root":    "has its root folder in it",
	"thread":  "has one thread that works in it, or has a file in it open",
	"fd":      "has a file or folder in it open",
	"map":     "has a file in it mapped, such as a library",
	"socket":  "has a unix socket that is bound in it",
	"lock":    "has a lock on a file in it",
	"admin":   "uses the folder that git keeps for this worktree, or works in a copy of it",
	"argv":    "was started with a path in it on its command line, such as a script",
	"env":     "has a variable in its environment that leads git, or the search for programs, into it",
	"watch":   "watches it for changes",
	"link":    "has a file open that has another name in it",
	"overlay": "sees a mount that is made of what lies in it",
	"mount":   "sees it, a part of it or a folder around it mounted elsewhere",
	"loop":    "shows a file in it as a device",
	"swap":    "swaps memory to a file in it",
	"pane":    "is a pane that a multiplexer has on record as working in it",
}

// UsersText lists who uses a folder, each in words.
func (p Paint) UsersText(w io.Writer, d *snapshot.Dir) {
	if d == nil || len(d.Holders) == 0 && d.HoldersKnown != nil && *d.HoldersKnown {
		return
	}
	fmt.Fprintf(w, "\n%s\n", p.Bold("who uses it"))
	for _, h := range d.Holders {
		how, known := HoldsBy[h.How]
		if !known {
			how = "uses it"
		}
		who := fmt.Sprintf("%s (%d)", h.Name, h.PID)
		if h.PID == 0 {
			who = h.Name + " (the kernel)"
		}
		p.Indented(w, 2, text.Clean(who+" "+how)+" "+p.Dim(text.Clean("("+h.How+")")))
	}
	switch {
	case d.Unasked():
		p.Indented(w, 2, text.Clean("nobody was asked, because "+d.Skipped))
	case d.HoldersKnown == nil || !*d.HoldersKnown:
		p.Indented(w, 2, "not every process that may use it could be read")
	}
}
