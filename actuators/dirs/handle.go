package dirs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe/act"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// handle is one folder held: while it is open, its inode cannot be given to another.
type handle struct {
	*Actuator
	act  string
	want decision.Dir
	plan plan
	// held is the folder, parent the one that its name is in.
	held, parent folder.Folder
	// saving is true from when refs may have been made until Act takes over, and refs are those that were made.
	saving bool
	refs   map[string]string
	// clean are the git folders of the submodules that hold nothing but what their remotes have, in the worktree's entry,
	// by their folders in the worktree.
	clean map[string]string
}

// Hold takes hold of the folder, compares it with the identity that was decided on, and plans where it goes.
func (a *Actuator) Hold(ctx context.Context, act string, d decision.Decision) (actuators.Held, error) {
	if d.Identity.Dir == nil {
		return nil, actuators.Refused("%s has no folder's identity; it was left untouched", d.ID)
	}
	g := &handle{Actuator: a, act: act, want: *d.Identity.Dir, held: folder.None, parent: folder.None}
	if err := g.take(ctx); err != nil {
		return nil, errors.Join(untouched(g.want.Path, err), g.Close())
	}
	return g, nil
}

func (g *handle) take(ctx context.Context) error {
	if !actID.MatchString(g.act) {
		return actuators.Refused("%q is not an act's name", g.act)
	}
	if err := g.allowed(); err != nil {
		return err
	}
	if g.want.Gone {
		return g.takeEntry(ctx)
	}
	var err error
	if g.parent, g.held, err = locate(g.want.Root, g.want.Path); err != nil {
		return err
	}
	if err := g.check(ctx); err != nil {
		return err
	}
	return g.makePlan(ctx)
}

// allowed asks the never-list for the path alone.
func (g *handle) allowed() error {
	path := g.want.Path
	if err := (actuators.NeverFolder{Home: g.o.Home, Roots: g.o.Roots}).Check(path, g.want.Root); err != nil {
		return err
	}
	if shared := g.sharedOutside(); shared(path) || g.want.Gone && shared(g.want.AdminDir) {
		return sharedOutside(path)
	}
	if slices.Contains(strings.Split(path, "/"), rootTrash) {
		return actuators.Refused("%s lies in the trash", path)
	}
	if g.o.StateTrash != "" {
		real, _, err := g.stateTrash()
		if err != nil {
			return err
		}
		if actuators.IsBelow(real, path) || actuators.IsBelow(path, real) {
			return actuators.Refused("%s and the trash %s lie in one another", path, real)
		}
	}
	return nil
}

// locate opens the folder at path, and the one that holds it, on a way below root without links and mounts.
func locate(root, path string) (parent, held folder.Folder, err error) {
	parent, held = folder.None, folder.None
	top, err := folder.Open(root)
	if err != nil {
		return parent, held, opening(path, err)
	}
	defer top.Close()
	rel, err := filepath.Rel(root, filepath.Dir(path))
	if err != nil {
		return parent, held, actuators.Refused("find the way from %s: %w", root, err)
	}
	if parent, err = top.OpenBelow(rel, unix.O_RDONLY); err != nil {
		return parent, held, opening(path, err)
	}
	if held, err = parent.OpenBelow(filepath.Base(path), unix.O_PATH); err != nil {
		parent.Close()
		return folder.None, held, opening(path, err)
	}
	return parent, held, nil
}

// opening says what an error on the way to a folder means.
func opening(path string, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT):
		return actuators.Gone("%s no longer exists: another program or a person removed it first", path)
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return actuators.Refused("the way to it has a symbolic link or no folder in it: %w", err)
	case errors.Is(err, unix.EXDEV):
		return actuators.Refused("the way to it leads onto another mount: %w", err)
	}
	return actuators.Refused("open it: %w", err)
}

// check makes sure that what is held is what is wanted, is where it is wanted, and may be moved.
func (g *handle) check(ctx context.Context) error {
	s, err := g.held.Stamp()
	if err != nil {
		return actuators.Refused("look at it: %w", err)
	}
	want := stampOf(g.want)
	switch {
	case want.Born.IsZero() || s.Born.IsZero():
		return actuators.Refused("its birth time is unknown, so it could be another folder with the same inode number")
	case !s.Equal(want):
		return actuators.Changed("it is another folder now")
	case s.MountRoot || want.Mount != 0 && s.Mount != 0 && s.Mount != want.Mount:
		return actuators.Refused("it is a mount point, or on another mount than before")
	}
	if err := mounted(g.want.Path); err != nil {
		return err
	}
	self, err := proc.Lineage(g.o.ProcRoot, os.Getpid())
	if err != nil {
		return actuators.Refused("find out what Winnow runs under: %w", err)
	}
	if err := actuators.NobodyOfOurs(g.o.ProcRoot, append(self, g.o.Self...), g.want.Path); err != nil {
		return err
	}
	linked, err := actuators.NotMainCheckout(g.held.FD, g.want.Path)
	switch {
	case err != nil:
		return err
	case linked != g.want.Worktree:
		return actuators.Changed("whether it is a worktree of a repository changed")
	case linked:
		return g.checkWorktree(ctx)
	case g.want.In != "":
		return g.checkAround(append(self, g.o.Self...))
	}
	return nil
}

func (g *handle) makePlan(ctx context.Context) error {
	s, err := g.held.Stamp()
	if err != nil {
		return actuators.Refused("look at it: %w", err)
	}
	trash, err := g.trashFor(s)
	if err != nil {
		return err
	}
	g.plan = plan{From: g.want.Path, Root: g.want.Root, Trash: trash}
	if g.want.Worktree && !g.want.Lost {
		if g.plan.Admin, err = g.planAdmin(ctx, s); err != nil {
			return err
		}
	}
	// After this it is judged for the last time, and after the move everything in it must be the same.
	f, err := g.held.OpenBelow(".", unix.O_RDONLY)
	if err != nil {
		return actuators.Refused("look into it: %w", err)
	}
	defer f.Close()
	was, err := surveyor{refuse: repositories(g.want.Worktree, g.clean)}.take(ctx, f)
	g.plan.Tree = &was
	return err
}

// Plan is every place that the act uses.
func (g *handle) Plan() json.RawMessage {
	text, err := json.Marshal(g.plan)
	if err != nil { // texts, numbers and times of statx always marshal
		return nil
	}
	return text
}

// Save makes refs that keep the worktree's commits, and what is staged, where nothing else would once its entry is gone. No rule counts
// them, and nothing of the folder or its entry changes.
func (g *handle) Save(ctx context.Context) (err error) {
	if g.plan.Admin == nil {
		return nil
	}
	g.o.Step("dir.refs")
	g.saving = true
	if g.refs, err = g.repo(g.plan.Admin.Common, g.plan.Admin.From).Keep(ctx, refPrefix(g.act), g.plan.Admin.Head); err != nil {
		return untouched(g.want.Path, actuators.Refused("keep its commits: %w", err))
	}
	return nil
}

// Close lets go. It removes the refs that were made for an act that did not come.
func (g *handle) Close() error {
	err := errors.Join(g.held.Close(), g.parent.Close())
	if g.saving {
		err = errors.Join(err, g.repo(g.plan.Admin.Common, g.plan.Admin.Common).Drop(context.Background(), refPrefix(g.act)))
	}
	return err
}

// untouched ends an error with what became of the folder: nothing. It keeps what the error is.
func untouched(path string, err error) error {
	switch {
	case errors.Is(err, actuators.ErrGone):
		return err
	case errors.Is(err, actuators.ErrChanged):
		return actuators.Changed("%s: %w; it was left untouched", path, err)
	}
	return actuators.Refused("%s: %w; it was left untouched", path, err)
}

// cameBack compares the folder that was just brought back with what was set aside, and says what is different. It is the same
// folder even after the trash was changed by hand, so a difference is not an error.
func (s *site) cameBack(ctx context.Context) string {
	if s.plan.Tree == nil {
		return ""
	}
	now, err := s.tree.surveyAt(ctx, s.tree.home)
	switch {
	case err != nil:
		return fmt.Sprintf("; whether it changed in the trash is unknown: %v", err)
	case now.Lasting != s.plan.Tree.Lasting:
		return fmt.Sprintf("; something in it changed while it lay in the trash (the latest change: %s)", now.latest)
	}
	return ""
}

// mendHead makes HEAD lead to the commit that was kept, and says what it had to do for that. A branch that is gone is made again; one
// that moved, or that is checked out elsewhere by now, is left alone, and HEAD is detached. Then it makes sure that git can read the
// commit, the index, and all else that was kept.
func (s *site) mendHead(ctx context.Context, came bool) (note string, err error) {
	note, err = s.mend(ctx)
	if err != nil {
		return note, fmt.Errorf("bring its HEAD to the commit that it was: %w", err)
	}
	head, err := s.refs().Head(s.entry())
	switch {
	case err != nil:
		return note, fmt.Errorf("read its HEAD: %w", err)
	case head != s.plan.Admin.Head:
		return note, fmt.Errorf("its HEAD is %s and not the commit that it was", head)
	}
	branch, err := branchOf(s.entry())
	if err != nil {
		return note, err
	}
	return note, s.verifyObjects(ctx, head, branch, came)
}

// verifyObjects makes sure that git can read all that the worktree's commit, index and own refs lead to.
func (s *site) verifyObjects(ctx context.Context, head, branch string, came bool) error {
	kept, err := s.keptObjects(ctx, came)
	if err != nil {
		return fmt.Errorf("read which objects were kept: %w", err)
	}
	return s.repo(s.plan.Admin.Common, s.entry()).VerifyObjects(ctx, head, branch, kept)
}

func (s *site) mend(ctx context.Context) (note string, err error) {
	want := s.plan.Admin.Head
	branch, err := branchOf(s.entry())
	if err != nil || branch == "" {
		return "", err
	}
	head, err := s.refValue(branch)
	if err != nil {
		return "", err
	}
	name := strings.TrimPrefix(branch, "refs/heads/")
	if head == "" {
		if err := s.common().MakeBranch(ctx, branch, want); err == nil {
			return fmt.Sprintf("; its branch %s was gone and was made again at its commit", name), nil
		}
		note = fmt.Sprintf("; its branch %s is gone and could not be made again, so its HEAD is detached at its commit", name)
	} else if other := s.worksOn(branch); other != "" {
		note = fmt.Sprintf("; its branch %s is in use by %s by now, so its HEAD is detached at its commit", name, other)
	} else if head != want {
		note = fmt.Sprintf("; its branch %s is at %s by now, so its HEAD is detached at its commit", name, head)
	} else {
		return "", nil
	}
	return note, act.Detach(s.entry(), want)
}

// branchOf is the branch that the HEAD of an entry names, or nothing.
func branchOf(entry string) (string, error) {
	ref, _, err := git.ReadHead(entry)
	if !strings.HasPrefix(ref, "refs/heads/") {
		return "", err // the file itself says the commit, or names a ref that lies in the entry
	}
	return ref, err
}

// refValue is the commit that a ref leads to, or nothing when there is no such ref.
func (s *site) refValue(ref string) (string, error) {
	oid, err := s.refs().Resolve(s.plan.Admin.Common, ref)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return oid, err
}

// worksOn names another checkout of the repository whose HEAD is on a branch, or nothing.
func (s *site) worksOn(branch string) string {
	var entries []string
	if filepath.Base(s.plan.Admin.Common) == ".git" { // no checkout uses the HEAD of a bare repository
		entries = append(entries, s.plan.Admin.Common)
	}
	if f, err := folder.Open(filepath.Dir(s.entry())); err == nil {
		names, _ := f.Names() // one that cannot be listed says nothing; two checkouts of a branch lose nothing either
		for _, name := range names {
			entries = append(entries, filepath.Join(f.Path, name))
		}
		_ = f.Close()
	}
	for _, entry := range entries {
		if entry == s.entry() {
			continue
		}
		if on, err := branchOf(entry); err == nil && on == branch {
			return entry
		}
	}
	return ""
}
