package dirs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe/act"
)

// cameBack compares the folder that was just brought back with what was set aside, and says what is different. It is the same
// folder even after the trash was changed by hand, so a difference is not an error.
func (s *site) cameBack(ctx context.Context) string {
	if s.plan.Tree == nil {
		return ""
	}
	now, err := s.surveyIn(ctx, s.tree.home, s.tree, s.surveyor())
	switch {
	case err != nil:
		return fmt.Sprintf("; whether it changed in the trash is unknown: %v", err)
	case now.Lasting != s.plan.Tree.Lasting:
		return fmt.Sprintf("; something in it changed while it lay in the trash (the latest change: %s)", now.latest)
	}
	return ""
}

// entryCameBack does the same for the entry. There a difference may hide commits.
func (s *site) entryCameBack(ctx context.Context) error {
	if s.plan.Admin.Entry == nil {
		return nil
	}
	now, err := s.surveyIn(ctx, s.admin.home, *s.admin, surveyEntry())
	if err == nil && now.Lasting != s.plan.Admin.Entry.Lasting {
		err = fmt.Errorf("something in its entry in the repository changed while it lay in the trash (the latest change: %s)", now.latest)
	}
	return err
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
