package eval_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

var noGit snapshot.Git

// git is what git knows of the folder, without any fact where that is nothing.
func (j *judged) git() *snapshot.Git {
	if j.Dir == nil || j.Dir.Git == nil {
		return &noGit
	}
	return j.Dir.Git
}

// dir is policies/reap/dirs and policies/reap/content.
func (j *judged) dir() (in bool) {
	d, g := j.Dir, j.git()
	if c := d.Content; c != nil && is(c.Linked, true) && c.Pattern != "" {
		in = true
		if j.madeAgain() && c.Bytes != nil && *c.Bytes >= int64(j.c.TrimMin) {
			j.find("reap.content.rebuildable", "all that is in it can be made again ("+c.Pattern+"), and nothing has happened in its worktree for "+spanOf(j.Idle),
				evidence{"worktree": c.Worktree, "pattern": c.Pattern, "bytes": *c.Bytes, "idle": *j.Idle})
		}
	}
	for _, shape := range j.n.shapes {
		if shape.MatchString(d.Name) {
			in = true
			j.find("reap.dirs.disposable", "its name says that it was made to be thrown away", evidence{"name": d.Name, "shape": shape.String()})
		}
	}
	if !is(g.Worktree, true) {
		return in
	}
	landedAfter := least(j.Idle, j.c.LandedAfter)
	if is(d.Gone, true) && j.emptyEntry() && j.unlocked() && landedAfter {
		e := evidence{"head": g.Head, "idle": *j.Idle}
		word(e, "branch", g.Branch)
		word(e, "entry", g.AdminDir)
		several(e, "signs", j.Signs)
		j.find("reap.dirs.gone", "its folder is gone; git still lists it"+j.voidLock(), e)
	}
	ownBranch := j.ownBranch()
	if ownBranch && is(g.Registered, true) && g.Head != "" && j.quiet() && is(g.Unreachable, 0) && is(g.Dirty, 0) && is(g.Untracked, 0) && is(g.Ignored, 0) {
		for _, how := range j.proofs() {
			j.find("reap.dirs.landed", how+", and nothing has happened in it for "+spanOf(j.Idle)+j.voidLock(), j.landing())
		}
	}
	if !j.holdsNothing() {
		return true
	}
	asked := j.askedByUser()
	if landedAfter || asked {
		j.ownersGone(asked)
	}
	if asked && j.Asked.Mine && d.UID != nil && j.Asked.UID == *d.UID {
		j.find("reap.dirs.over", "its user says that it is theirs and may go, and it holds nothing that is not in the repository",
			evidence{"by": j.Asked.By, "uid": j.Asked.UID})
	}
	if ownBranch && is(g.Commits, 0) && (is(g.Landed, true) || is(g.Elsewhere, true) || is(g.Detached, true)) && least(j.Idle, j.c.AbandonedAfter) {
		e := evidence{"head": g.Head, "commits": *g.Commits, "idle": *j.Idle}
		word(e, "branch", g.Branch)
		fact(e, "landed", g.Landed)
		fact(e, "elsewhere", g.Elsewhere)
		several(e, "signs", j.Signs)
		j.find("reap.dirs.untouched", "nothing was ever done in it, and nobody has touched it for "+spanOf(j.Idle)+j.voidLock(), e)
	}
	return true
}

// landing is the evidence that the work of a worktree has landed.
func (j *judged) landing() evidence {
	g := j.git()
	e := make(evidence, 9)
	word(e, "upstream", g.Upstream)
	word(e, "head", g.Head)
	fact(e, "commits", g.Commits)
	if g.Landing != nil {
		e["landing"] = g.Landing
	}
	fact(e, "fetched_at", g.FetchedAt)
	fact(e, "idle", j.Idle)
	fact(e, "scaffold", g.Scaffold)
	word(e, "lock", j.lock())
	several(e, "signs", j.Signs)
	return e
}

// ownersGone finds by each entry of the registry that is about this very folder, and whose owner has ended.
func (j *judged) ownersGone(asked bool) {
	for i, over := range j.ended() {
		r := &j.Entries[i]
		if !over || r.By != "path" || !is(r.Own, true) || r.Path == "" || r.Path != j.Dir.Path || !j.ownerOver(r.ID) ||
			(r.Ended == nil || *r.Ended < 0 || !least(j.Made, *r.Ended)) && (!asked || !is(r.Endless, true)) {
			continue
		}
		e := evidence{"source": r.Source, "entry": r.ID}
		fact(e, "idle", j.Idle)
		word(e, "lock", j.lock())
		several(e, "signs", j.Signs)
		j.find("reap.dirs.over", "the registry says that its owner has ended, and it holds nothing that is not in the repository"+j.voidLock(), e)
	}
}

func (j *judged) askedByUser() bool {
	return j.Asked != nil && j.Asked.By == "user" && is(j.Host.UID, j.Asked.UID)
}

func (j *judged) shaped() bool {
	for _, shape := range j.n.shapes {
		if shape.MatchString(j.Dir.Name) {
			return true
		}
	}
	return false
}

func (j *judged) holdsNothing() bool {
	g := j.git()
	return is(g.Worktree, true) && is(g.Registered, true) && g.Head != "" && is(g.Dirty, 0) && is(g.Untracked, 0) && is(g.Ignored, 0) &&
		is(g.Unreachable, 0) && is(g.Operation, "") && none(g.Nested)
}

func (j *judged) emptyEntry() bool {
	d, g := j.Dir, j.git()
	return is(d.Gone, true) && is(d.Symlink, false) && is(g.Worktree, true) && is(g.Registered, true) && g.Head != "" && is(g.Staged, 0) &&
		is(g.Unreachable, 0) && is(g.Operation, "") && none(g.Nested)
}

func (j *judged) ownBranch() bool {
	g := j.git()
	name := strings.TrimPrefix(g.Branch, "refs/heads/")
	return is(g.Detached, true) || name != "" && name != "main" && name != "master" && name != "trunk" && g.Upstream != "" && !strings.HasSuffix(g.Upstream, "/"+name)
}

func (j *judged) quiet() bool {
	g := j.git()
	return g.Commits != nil && (*g.Commits >= 1 && least(j.Idle, j.c.LandedAfter) ||
		*g.Commits == 0 && is(g.Landed, false) && g.Ahead != nil && *g.Ahead >= 1 && least(j.Idle, j.c.AbandonedAfter))
}

// proofs say how the work got into the default branch.
func (j *judged) proofs() (out []string) {
	g := j.git()
	if g.Upstream != "" && is(g.Landed, true) {
		out = append(out, "all its work is on "+branch(g.Upstream))
	}
	l := g.Landing
	if l == nil || l.Into == "" || l.Into != g.Upstream {
		return out
	}
	switch {
	case l.By == "patches" && len(l.Commits) > 0:
		out = append(out, "each of its commits is on "+branch(l.Into)+" too, as "+brief(l.Commits))
	case l.By == "squash" && len(l.Commits) > 0:
		out = append(out, "its work was squashed into "+branch(l.Into)+" as "+brief(l.Commits))
	case l.By == "tree":
		out = append(out, "a merge of it would change nothing on "+branch(l.Into))
	}
	return out
}

func brief(commits []string) string {
	short := func(oid string) string { return oid[:min(10, len(oid))] }
	if len(commits) == 1 {
		return short(commits[0])
	}
	return short(commits[0]) + " to " + short(commits[len(commits)-1])
}

func (j *judged) unlocked() bool { return is(j.git().Locked, false) || j.git().Lock.Void() }

func (j *judged) voidLock() string {
	if !j.git().Lock.Void() {
		return ""
	}
	return "; it is " + j.lock()
}

// lock says what the lock says; "" where there is none.
func (j *judged) lock() string {
	l := j.git().Lock
	if l == nil {
		return ""
	}
	pid := blank
	if l.PID != 0 {
		pid = strconv.Itoa(l.PID)
	}
	locker := shownText(l.Tool) + " (pid " + pid + ")"
	if l.Owner != "" {
		locker = shownText(l.Tool) + " " + l.Owner + " (pid " + pid + ")"
	}
	switch {
	case is(l.Alive, false):
		return "locked by " + locker + ", which is gone"
	case is(l.Alive, true):
		return "locked by " + locker + ", which is alive"
	case l.Tool != "":
		return "locked by " + locker + ", of which it is not known whether it is alive"
	case known(l.Text):
		return fmt.Sprintf("locked with the reason %q", *l.Text)
	case is(l.Text, ""):
		return "locked without a reason"
	}
	return ""
}

// madeAgain is policies/lib/content.
func (j *judged) madeAgain() bool {
	d := j.Dir
	c := d.Content
	return c != nil && d.Path != "" && is(d.Symlink, false) && is(d.Checkout, false) && none(d.Nested) &&
		is(c.Linked, true) && is(c.Registered, true) && is(c.Locked, false) && c.ID != "" && c.Name != "" && strings.HasPrefix(d.Path, c.Worktree+"/") &&
		is(c.Ignored, true) && is(c.Tracked, 0) && is(c.Others, 0) && slices.Contains(j.c.Rebuildable, c.Pattern) && least(j.Idle, j.c.TrimAfter)
}

// declared reports whether a folder outside of git holds what was declared disposable.
func (j *judged) declared() bool {
	d, home := j.Dir, j.Host.Home
	if !is(d.Checkout, false) || !is(d.Symlink, false) || !none(d.Nested) || d.Path == "" || d.Root == "" || d.Path == d.Root || home == "" ||
		home == d.Path || strings.HasPrefix(home, d.Path+"/") {
		return false
	}
	for _, g := range j.n.content {
		if g.Match(d.Path) {
			return true
		}
	}
	return false
}

// dirObjects is what of policies/protect is about folders alone.
func (j *judged) dirObjects() {
	j.used()
	j.nested()
	j.unsaved()
	j.dirProtected()
	j.unaccounted()
	if d := j.Dir; d.Content != nil && (j.Host.Cwd == "" || j.Host.Cwd == d.Content.Worktree || strings.HasPrefix(j.Host.Cwd, d.Content.Worktree+"/")) {
		j.object("protect.self", "Winnow itself stands in its worktree, or whether it does is not known", nil)
	}
	var byPath []string
	for i := range j.Entries {
		if j.Entries[i].By == "path" {
			byPath = append(byPath, j.Entries[i].ID)
		}
	}
	if len(byPath) > 0 && (j.Dir.Name == "" || j.shaped()) {
		j.object("protect.owned", "a registry records this folder as an owner's, so it is not disposable", evidence{"entries": byPath})
	}
}

func (j *judged) used() {
	d := j.Dir
	unheard := d.Skipped != "" && d.HoldersKnown == nil
	if is(d.HoldersKnown, true) && empty(j.Holders) || unheard && d.Content == nil && len(j.Holders) == 0 && j.c.Level(j.Kind, "protect.unsaved") != decision.Off {
		return
	}
	var users []string
	for _, h := range j.Holders {
		users = append(users, fmt.Sprintf("%s (%d) uses it", h.Name, h.PID))
	}
	j.object("protect.live", reasoned(reasoned("whether a process uses it is unknown: not every process could be read",
		when(unheard, "who uses it was not asked, because "+d.Skipped)), users...), evidence{"holders": whole(j.Holders)})
}

func (j *judged) nested() {
	d, g := j.Dir, j.git()
	if is(d.Symlink, false) && is(d.Mounts, 0) && (none(g.Nested) || is(d.Checkout, false) && (is(d.Empty, true) || none(d.Nested)) || is(d.Checkout, true) && d.Skipped != "") {
		return
	}
	var reasons []string
	e := evidence{}
	if is(d.Symlink, true) {
		reasons = append(reasons, "it is a symbolic link")
	}
	if d.Mounts != nil && *d.Mounts > 0 {
		reasons = append(reasons, "a mount point is or lies in it")
	}
	for _, list := range []*[]string{g.Nested, d.Nested} {
		if some(list) {
			reasons = append(reasons, "another repository lies in it: "+strings.Join(*list, ", "))
		}
		fact(e, "repositories", list)
	}
	fact(e, "mounts", d.Mounts)
	j.object("protect.nested", reasoned(reasoned("whether another repository or a mount point lies in it is not known", j.skipped()), reasons...), e)
}

func (j *judged) skipped() string {
	return when(j.Dir.Skipped != "", "it was not looked into, because "+j.Dir.Skipped)
}

func (j *judged) unsaved() {
	d, g := j.Dir, j.git()
	if d.Skipped == "" && (is(d.Checkout, false) && is(d.Empty, true) || j.declared() || j.emptyEntry() || j.cleanTree()) || j.madeAgain() {
		return
	}
	reasons, lost := []string{j.skipped()}, j.lost()
	if len(lost) > 0 {
		reasons = append(reasons, "it holds work that is nowhere else: "+strings.Join(lost, ", "))
	}
	if g.Unreachable != nil && *g.Unreachable > 0 && len(j.Signs) > 0 {
		reasons = append(reasons, "on record: "+strings.Join(j.Signs, " and ")+", which is no proof that these have landed")
	}
	reasons = append(reasons,
		when(is(g.Worktree, false), "it is a repository of its own, and what it holds may be nowhere else"),
		when(is(d.Checkout, false) && is(d.Empty, false), "it holds files that are in no repository"))
	unread := reasoned("whether it holds unsaved work is not known", when(d.Error != "", "not all of it was read: "+d.Error))
	e := evidence{"lost": whole(lost)}
	if some(g.IgnoredPaths) {
		e["ignored_paths"] = *g.IgnoredPaths
	}
	several(e, "signs", j.Signs)
	fact(e, "scaffold", g.Scaffold)
	fact(e, "reports", g.Reports)
	j.object("protect.unsaved", reasoned(unread, reasons...), e)
}

// cleanTree reports whether a worktree holds nothing that is not in its repository, or only what an agent left for whoever started it, and that was taken.
func (j *judged) cleanTree() bool {
	g := j.git()
	if !is(g.Worktree, true) || !is(g.Dirty, 0) || !is(g.Unreachable, 0) || !is(g.Operation, "") || g.Untracked == nil || g.Ignored == nil {
		return false
	}
	if *g.Untracked == 0 && *g.Ignored == 0 {
		return true
	}
	if g.Reports == nil || *g.Untracked+*g.Ignored-*g.Reports != 0 {
		return false
	}
	byPath := false
	for i := range j.Spawns {
		s := &j.Spawns[i]
		if !least(s.Completed, j.c.Grace.Spawn) {
			return false
		}
		byPath = byPath || s.By == "path"
	}
	return byPath
}

// lost says what would be lost, sorted.
func (j *judged) lost() (out []string) {
	g := j.git()
	for _, l := range []struct {
		what, advice string
		count        *int
		paths        *[]string
	}{
		{"changed files", "", g.Dirty, nil}, {"staged files", "", g.Staged, nil}, {"untracked files", "", g.Untracked, g.UntrackedPaths},
		{"ignored files that cannot be rebuilt", "; add to rules.rebuildable what may go", g.Ignored, g.IgnoredPaths},
		{"commits that nothing else reaches", "", g.Unreachable, nil},
	} {
		if l.count == nil || *l.count == 0 {
			continue
		}
		text := l.what + ": " + strconv.Itoa(*l.count)
		if some(l.paths) {
			text += " (" + j.names(*l.paths, *l.count) + l.advice + ")"
		}
		out = append(out, text)
	}
	if known(g.Operation) {
		out = append(out, "under way: "+*g.Operation)
	}
	slices.Sort(out)
	return out
}

// names are the first of some paths, with what the main checkout has there.
func (j *judged) names(paths []string, total int) string {
	g, most := j.git(), j.c.NamedFiles
	in := func(list *[]string, p string) bool { return list != nil && slices.Contains(*list, p) }
	var out []string
	for _, p := range paths[:max(0, min(most, len(paths)))] {
		switch {
		case in(g.DifferingPaths, p):
			p += " differs from the main checkout's"
		case in(g.OnlyHerePaths, p):
			p += " is in this folder only"
		default:
			p += " was not compared with the main checkout's"
		}
		out = append(out, p)
	}
	text := strings.Join(out, ", ")
	if len(paths) > most {
		text += " and " + strconv.Itoa(total-most) + " more"
	}
	return text
}

// dirProtected is what protect.protected says of folders alone.
func (j *judged) dirProtected() {
	d, g := j.Dir, j.git()
	mine := d.UID != nil && is(j.Host.UID, *d.UID)
	if mine && (is(g.Worktree, true) && j.unlocked() || is(d.Checkout, false) && d.Git == nil) {
		return
	}
	locked := ""
	if is(g.Locked, true) && !j.unlocked() {
		locked = "it is a locked worktree"
		if lock := j.lock(); lock != "" {
			locked += ": " + lock
			if d.Path != "" && g.CommonDir != "" {
				locked += ": git -C " + shellWord(g.CommonDir) + " worktree unlock " + shellWord(d.Path) + " removes the lock"
			}
		}
	}
	j.object("protect.protected", reasoned("whether it is a worktree, locked, or another user's is not known", locked,
		when(is(g.Worktree, false), "it is a repository of its own"),
		when(d.UID != nil && j.Host.UID != nil && !mine, "it belongs to another user")), nil)
}

// unaccounted objects to a folder that lies where an orchestrator keeps its worktrees whose records were not read.
func (j *judged) unaccounted() {
	for _, f := range j.c.RecordedFolders {
		if j.Dir.Path != "" && !strings.Contains(j.Dir.Path+"/", "/"+f.Name+"/") ||
			slices.Contains(j.RecordsRead, "spawns:"+f.Format) && slices.Contains(j.RecordsRead, "registry:"+f.Format) {
			continue
		}
		j.object("protect.unknown", "it lies where "+f.Format+" keeps its worktrees, and the records of "+f.Format+" were not read",
			evidence{"name": f.Name, "format": f.Format})
	}
}
