package dirs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"winnow/actuators"
)

// cameBack compares the folder that has just come home with what was set aside, and says what is different. It is the same folder
// whatever anybody did to it in the trash, so that is no error.
func (s *site) cameBack(ctx context.Context) string {
	if s.plan.Tree == nil {
		return ""
	}
	now, err := s.surveyIn(ctx, s.tree.home, s.tree, surveyTree)
	switch {
	case err != nil:
		return fmt.Sprintf("; whether it is as it was set aside could not be found out: %v", err)
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
	now, err := s.surveyIn(ctx, s.admin.home, *s.admin, surveyEntry)
	if err == nil && now.Lasting != s.plan.Admin.Entry.Lasting {
		err = fmt.Errorf("something in its entry in the repository changed while it lay in the trash (the latest change: %s)", now.latest)
	}
	return err
}

// mendHead makes HEAD lead to the commit that was kept, and says what it had to do for that. A branch that is gone is made again; one
// that moved, or that somebody else works on by now, is left alone, and HEAD is detached. Then it makes sure that git can read both
// the commit and the index.
func (s *site) mendHead(ctx context.Context) (note string, err error) {
	own := repo{s.git, s.admin.home}
	note, err = s.mend(ctx)
	if err != nil {
		return note, fmt.Errorf("bring its HEAD to the commit that it was: %w", err)
	}
	head, err := own.head(ctx)
	switch {
	case err != nil:
		return note, fmt.Errorf("read its HEAD: %w", err)
	case head != s.plan.Admin.Head:
		return note, fmt.Errorf("its HEAD is %s and not the commit that it was", head)
	}
	if err := own.whole(ctx, head, s.admin.home); err != nil {
		return note, err
	}
	return note, nil
}

// whole makes sure that nothing is missing of what a worktree's commit and index lead to. Of the commit it looks at what no other
// branch, tag or remote branch leads to: the rest is not this worktree's alone.
func (r repo) whole(ctx context.Context, head, entry string) error {
	branch, err := branchOf(entry)
	if err != nil {
		return err
	}
	args := []string{"rev-list", "--objects", "--quiet", head, "--not"}
	if name := strings.TrimPrefix(branch, "refs/heads/"); name != "" {
		args = append(args, "--exclude="+name) // git allows no *, ?, [ or backslash in it
	}
	if _, err := r.run(ctx, "", append(args, "--branches", "--tags", "--remotes")...); err != nil {
		return fmt.Errorf("look for all that its commit leads to: %w", err)
	}
	blobs, err := r.stagedContent(ctx)
	if err != nil {
		return fmt.Errorf("read its index: %w", err)
	}
	if len(blobs) == 0 {
		return nil
	}
	out, err := r.run(ctx, strings.Join(blobs, "\n")+"\n", "cat-file", "--batch-check=%(objectname) %(objecttype)")
	if err != nil {
		return fmt.Errorf("look for what its index holds: %w", err)
	}
	for line := range strings.Lines(out) {
		if id, what, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); what == "missing" {
			return fmt.Errorf("look for what its index holds: %s is not in the repository any more", id)
		}
	}
	return nil
}

func (s *site) mend(ctx context.Context) (note string, err error) {
	want := s.plan.Admin.Head
	branch, err := branchOf(s.admin.home)
	if err != nil || branch == "" {
		return "", err
	}
	head, err := s.common().refValue(ctx, branch)
	if err != nil {
		return "", err
	}
	name := strings.TrimPrefix(branch, "refs/heads/")
	if head == "" {
		// create fails when there is one by now, or one whose name is in the way.
		if _, err := s.common().run(ctx, fmt.Sprintf("create %s %s\n", branch, want), "update-ref", "--stdin"); err == nil {
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
	return note, detach(s.admin.home, want)
}

// headLock is what git makes while it writes HEAD, so that no two do.
const headLock = "HEAD.lock"

// detach makes the HEAD of an entry name a commit, and no branch. It writes the file as git does: git itself is given a HEAD of our own
// and never this one. A lock that an earlier try left behind has the same text, and is used.
func detach(entry, commit string) error {
	f, err := openFolder(entry)
	if err != nil {
		return err
	}
	defer f.close()
	text := []byte(commit + "\n")
	err = f.writeNew(headLock, text)
	if errors.Is(err, os.ErrExist) {
		var there []byte
		if there, err = f.read(headLock); err == nil && !bytes.Equal(there, text) {
			err = actuators.Refused("a git command is at work in it, or was cut short: there is %s", filepath.Join(entry, headLock))
		}
	}
	if err != nil {
		return err
	}
	if was, err := stampAt(f.fd, "HEAD"); err == nil {
		err = unix.Fchmodat(f.fd, headLock, uint32(was.mode)&0o777, 0) // whoever could read it still can
		if err != nil {
			return &os.PathError{Op: "write", Path: filepath.Join(entry, headLock), Err: err}
		}
	}
	if err := unix.Renameat(f.fd, headLock, f.fd, "HEAD"); err != nil {
		return &os.PathError{Op: "write", Path: filepath.Join(entry, "HEAD"), Err: err}
	}
	return f.sync()
}

// branchOf is the branch that the HEAD of an entry names, or nothing.
func branchOf(entry string) (string, error) {
	f, err := openFolder(entry)
	if err != nil {
		return "", err
	}
	defer f.close()
	text, err := f.read("HEAD")
	if err != nil {
		return "", fmt.Errorf("read HEAD: %w", err)
	}
	branch, symbolic := strings.CutPrefix(strings.TrimSpace(string(text)), "ref: ")
	if !symbolic || !strings.HasPrefix(branch, "refs/heads/") {
		return "", nil // the file itself says the commit, or names a ref that lies in the entry
	}
	if strings.ContainsAny(branch, " \n\x00") {
		return "", actuators.Refused("HEAD names a branch that git would not make: %q", branch)
	}
	return branch, nil
}

// refValue is the commit that a ref leads to, or nothing when there is no such ref.
func (r repo) refValue(ctx context.Context, ref string) (string, error) {
	out, err := r.run(ctx, "", "for-each-ref", "--format=%(refname) %(objectname)", ref)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		if name, id, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok && name == ref {
			return id, nil
		}
	}
	return "", nil
}

// worksOn names another checkout of the repository whose HEAD is on a branch, or nothing.
func (s *site) worksOn(branch string) string {
	var entries []string
	if filepath.Base(s.plan.Admin.Common) == ".git" { // the HEAD of a repository without a checkout is nobody's work
		entries = append(entries, s.plan.Admin.Common)
	}
	if f, err := openFolder(filepath.Dir(s.admin.home)); err == nil {
		names, _ := f.names() // one that cannot be listed says nothing; two checkouts of a branch lose nothing either
		for _, name := range names {
			entries = append(entries, filepath.Join(f.path, name))
		}
		_ = f.close()
	}
	for _, entry := range entries {
		if entry == s.admin.home {
			continue
		}
		if on, err := branchOf(entry); err == nil && on == branch {
			return entry
		}
	}
	return ""
}
