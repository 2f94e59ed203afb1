package git

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/git/landing"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// Worktree is what the files in a checkout's admin folder say. Nil is unknown.
type Worktree struct {
	Place
	Head     string
	Branch   string
	Detached *bool
	Locked   *bool
	// Lock is what the lock says, where there is one that could be read.
	Lock       *Lock
	Registered *bool
	Operation  *string
	Commits    *int
	// ActiveAt is the latest change of the admin folder, the index, HEAD or HEAD's reflog.
	ActiveAt time.Time
	// Landed, Ahead and Unreachable are filled by MeasureAhead. Ahead counts the commits of HEAD that the upstream does not reach.
	Landed      *bool
	Ahead       *int
	Unreachable *int
	// Landing and Elsewhere are filled by ProveMerged.
	Landing   *landing.Proof
	Elsewhere *bool
	// Followed is the remote-tracking branch that Branch follows, "" where it is not known or follows none, and FollowedGone whether it is missing.
	Followed     string
	FollowedGone *bool
	// PullRequests are the repository's records of pull requests of Branch, or of Head; nil where they could not be read.
	PullRequests *[]PullRequest
	// Bases is filled by ReadBases. PushedAt is when this clone pushed a commit that was made here, the zero time where something else
	// moved the remote branch since, or that is not known.
	Bases    []string
	PushedAt time.Time
	// Writing is the file in the admin folder that a git command holds while it writes there, or that one left which was cut short, the
	// latest of several; "" where they are all missing. WrittenAt is when it was written.
	Writing   string
	WrittenAt time.Time
	// Errors say what could not be read.
	Errors []error

	own     []string        // commits that go with the admin folder
	ownErr  error           // not nil when own may be incomplete
	kept    []string        // commits that the branch's reflog keeps
	made    map[string]bool // commits that were made on the branch, or in the worktree
	created entry           // how the branch was made, where its reflog still says so
	modules bool
}

func (w *Worktree) fail(err error) { w.Errors = append(w.Errors, err) }

// failOwn is fail where own may be incomplete for it.
func (w *Worktree) failOwn(err error) {
	w.ownErr = err
	w.fail(err)
}

// Read reads the admin folder of the checkout at p. What cannot be read stays unknown and is listed in Errors.
func (r *Repository) Read(p Place) *Worktree {
	w := &Worktree{Place: p}
	admin, err := openAdmin(p.AdminDir)
	if err != nil {
		w.failOwn(fmt.Errorf("read admin folder: %w; nothing in it was read", err))
		return w
	}
	defer admin.Close()
	if at, err := admin.Modified(""); err == nil && p.Linked {
		w.ActiveAt = at
	}
	if admin.has("index") {
		if at, err := admin.Modified("index"); err == nil {
			w.ActiveAt = later(w.ActiveAt, at)
		}
	}
	w.Locked = new(p.Linked && admin.has("locked"))
	if *w.Locked {
		if f, err := admin.read("locked", 4<<10); err != nil { // more than any reason
			w.fail(fmt.Errorf("read why it is locked: %w", err))
		} else {
			w.Lock = &Lock{Text: string(f.Data), Mod: f.Mod, UID: f.UID}
		}
	}
	w.modules = p.Linked && admin.has("modules")
	if w.Linked { // a copied or moved worktree points at an admin folder that does not point back at this very folder
		if back, err := r.finder.Entry(w.Place); err != nil {
			w.fail(err)
		} else {
			w.Registered = &back
		}
	}
	r.readHead(w, admin)
	w.Operation = admin.operation()
	w.readWriting(admin)
	r.readLogs(w, admin)
	if p.Linked {
		w.collectOwn(admin)
		r.readFollowed(w)
	}
	return w
}

// Lock is the file that git worktree lock writes: the reason, which may be empty, and when and by whom it was written.
type Lock struct {
	Text string
	Mod  time.Time
	UID  uint32
}

func (r *Repository) readHead(w *Worktree, admin *adminFolder) {
	f, err := admin.read("HEAD", maxSmall)
	if err != nil {
		w.failOwn(fmt.Errorf("read HEAD: %w", err))
		return
	}
	w.ActiveAt = later(w.ActiveAt, f.Mod)
	ref, oid, err := parseHead(f.Data)
	if err != nil {
		w.failOwn(fmt.Errorf("read HEAD: %q %w", filepath.Join(w.AdminDir, "HEAD"), err))
		return
	}
	w.Detached, w.Head = new(ref == ""), oid
	if ref == "" {
		return
	}
	w.Branch = ref
	if w.Head, err = r.refs.Resolve(w.AdminDir, ref); err != nil {
		err = fmt.Errorf("read HEAD: %w", err)
		w.fail(err)
		if !gone(err) {
			w.ownErr = err
		}
	}
}

// reflog is a reflog that was read.
type reflog struct {
	entries []entry
	mod     time.Time
}

func readReflog(path string) (reflog, error) {
	f, err := readFile(path, maxReflog)
	return reflogOf(path, f, err)
}

func reflogOf(path string, f safeopen.File, err error) (reflog, error) {
	if err != nil {
		return reflog{}, fmt.Errorf("read reflog: %w", err)
	}
	entries, err := parseReflog(f.Data)
	if err != nil {
		return reflog{mod: f.Mod}, fmt.Errorf("read reflog: %q: %w", path, err)
	}
	return reflog{entries: entries, mod: f.Mod}, nil
}

// readLogs reads the reflogs of HEAD and of the branch that is checked out. HEAD's goes with the worktree; the branch's stays in
// the repository, and so do the commits that it names.
func (r *Repository) readLogs(w *Worktree, admin *adminFolder) {
	f, err := admin.read("logs/HEAD", maxReflog)
	head, err := reflogOf(filepath.Join(w.AdminDir, "logs", "HEAD"), f, err)
	w.ActiveAt = later(w.ActiveAt, head.mod)
	if err != nil && !gone(err) {
		w.failOwn(err)
	}
	for _, e := range head.entries {
		w.own = append(w.own, e.old, e.new)
	}
	logs, known := [][]entry{head.entries}, err == nil
	if w.Branch != "" {
		branch, err := readReflog(filepath.Join(r.CommonDir, "logs", w.Branch))
		if err != nil && !gone(err) {
			w.fail(err)
		}
		known = known && err == nil
		// The reflog of a branch that is gone keeps nothing.
		for _, e := range branch.entries {
			if w.Head != "" {
				w.kept = append(w.kept, e.old, e.new)
			}
		}
		logs = append(logs, branch.entries)
		if len(branch.entries) > 0 && gitsafe.IsZero(branch.entries[0].old) {
			w.created = branch.entries[0]
		}
	}
	if known && w.Detached != nil {
		w.made = commitsMade(logs...)
		w.Commits = new(len(w.made))
	}
}

// collectOwn gathers every commit that the admin folder names: HEAD, its reflog, the worktree's own refs and their reflogs, and
// what an operation that is under way has written down.
func (w *Worktree) collectOwn(admin *adminFolder) {
	if w.Head != "" {
		w.own = append(w.own, w.Head)
	}
	for _, path := range admin.stateFiles() {
		oids, err := admin.leadingOIDs(path)
		if err != nil {
			w.failOwn(fmt.Errorf("read git's state: %w", err))
		}
		w.own = append(w.own, oids...)
	}
	if admin.has("refs") {
		oids, err := looseRefs(filepath.Join(w.AdminDir, "refs"))
		if err != nil {
			w.failOwn(err)
		}
		w.own = append(w.own, oids...)
	}
	if err := w.ownLogs(admin); err != nil {
		w.failOwn(err)
	}
	slices.Sort(w.own)
	w.own = slices.DeleteFunc(slices.Compact(w.own), gitsafe.IsZero)
}

// ownLogs reads the reflogs of the worktree's own refs.
func (w *Worktree) ownLogs(admin *adminFolder) error {
	if _, err := admin.Modified("logs/refs"); err != nil {
		return nil
	}
	return filepath.WalkDir(filepath.Join(w.AdminDir, "logs", "refs"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		log, err := readReflog(path)
		if err != nil {
			return err
		}
		for _, e := range log.entries {
			w.own = append(w.own, e.old, e.new)
		}
		return nil
	})
}
