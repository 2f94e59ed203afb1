// Package act changes repositories: it makes and removes refs, marks a worktree's entry as locked and writes its HEAD. Only what carries
// decisions out may import it.
package act

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// Repo is a repository, seen from one of its checkouts.
type Repo struct {
	Git gitsafe.Program
	// Timeout bounds each run of git.
	Timeout time.Duration
	// Common is the repository's git folder and Admin the checkout's own one, as real paths; they may be the same.
	Common, Admin string
}

// Sizes above which a file of a git folder is not what it claims to be, in bytes.
const (
	maxHead  = 64 << 10
	maxIndex = 512 << 20
)

// run gives what git printed. Its standard error is part of the error.
//
// Git is run in a git folder of our own making, with a configuration of our own: it reads neither that of the repository nor the
// user's, and finds no hooks. HEAD and the index are handed to it as they are now; refs and objects are the repository's own.
func (r Repo) run(ctx context.Context, stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	sealed, err := r.seal(ctx, slices.Contains(args, indexed))
	if err != nil {
		return "", fmt.Errorf("git %s in %s: %w; git was not run", args[0], r.Admin, err)
	}
	out, err := sealed.Output(ctx, stdin, args...)
	if err := errors.Join(err, sealed.Close()); err != nil {
		return "", fmt.Errorf("git %s in %s: %w", args[0], r.Admin, err)
	}
	return out, nil
}

func (r Repo) seal(ctx context.Context, withIndex bool) (*gitsafe.Sandbox, error) {
	if _, err := safeopen.Folder(r.Admin); err != nil {
		return nil, err
	}
	head, err := safeopen.Read(ctx, filepath.Join(r.Admin, "HEAD"), safeopen.Want{Max: maxHead})
	if err != nil {
		return nil, err
	}
	var index safeopen.File
	if withIndex {
		index, err = safeopen.Read(ctx, filepath.Join(r.Admin, "index"), safeopen.Want{Max: maxIndex})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	repository, err := r.Git.Open(ctx, r.Common)
	if err != nil {
		return nil, err
	}
	return repository.Seal(ctx, gitsafe.View{Admin: r.Admin, Head: strings.TrimRight(string(head.Data), " \t\r\n"),
		Index: index.Data, Mod: index.Mod, Refs: true})
}

// indexed has git rev-list begin at what the index holds. No other question is about the index.
const indexed = "--indexed-objects"

// Has fails unless the repository has that commit.
func (r Repo) Has(ctx context.Context, commit string) error {
	_, err := r.run(ctx, "", "rev-parse", "--verify", "--end-of-options", commit+"^{commit}")
	return err
}

// MakeBranch makes a branch, by its whole name, at a commit. It fails where there is one, or one whose name is in the way.
func (r Repo) MakeBranch(ctx context.Context, branch, commit string) error {
	if strings.ContainsAny(branch, " \n\x00") {
		return fmt.Errorf("git would not make a branch called %q", branch)
	}
	_, err := r.run(ctx, fmt.Sprintf("create %s %s\n", branch, commit), "update-ref", "--stdin")
	return err
}

// Lock marks a worktree's entry as locked, so that git neither prunes nor removes it. It fails where the entry is locked.
func Lock(entry, text string) error {
	f, err := folder.Open(entry)
	if err != nil {
		return err
	}
	return errors.Join(f.WriteNew(LockName, []byte(text)), f.Close())
}

// Unlock takes a mark with that text away, and leaves any other.
func Unlock(entry, text string) error {
	f, err := folder.Open(entry)
	if err != nil {
		return err
	}
	defer f.Close()
	there, err := f.Read(LockName)
	if errors.Is(err, unix.ENOENT) || err == nil && string(there) != text {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(unix.Unlinkat(f.FD, LockName, 0), f.Sync())
}

// LockName is git's own mark on a worktree's entry: neither prune nor remove touches it then.
const LockName = "locked"

// headLock is what git makes while it writes HEAD, so that no two do.
const headLock = "HEAD.lock"

// Detach makes the HEAD of an entry name a commit, and no branch. It writes the file as git does: git itself is given a HEAD of our own
// and never this one. A lock that an earlier try left behind has the same text, and is used.
func Detach(entry, commit string) error {
	f, err := folder.Open(entry)
	if err != nil {
		return err
	}
	defer f.Close()
	text := []byte(commit + "\n")
	err = f.WriteNew(headLock, text)
	if errors.Is(err, os.ErrExist) {
		var there []byte
		if there, err = f.Read(headLock); err == nil && !bytes.Equal(there, text) {
			err = fmt.Errorf("a git command is at work in it, or was cut short: there is %s", filepath.Join(entry, headLock))
		}
	}
	if err != nil {
		return err
	}
	if was, err := folder.StampAt(f.FD, "HEAD"); err == nil {
		err = unix.Fchmodat(f.FD, headLock, uint32(was.Mode)&0o777, 0) // everyone who could read it still can
		if err != nil {
			return &os.PathError{Op: "write", Path: filepath.Join(entry, headLock), Err: err}
		}
	}
	if err := unix.Renameat(f.FD, headLock, f.FD, "HEAD"); err != nil {
		return &os.PathError{Op: "write", Path: filepath.Join(entry, "HEAD"), Err: err}
	}
	return f.Sync()
}

// Fetch brings one remote branch, such as refs/remotes/origin/main, up to date, and says nothing else to the remote. Nothing of the
// repository's configuration is used but the remote's address; no hook runs, no tag, submodule or other branch is fetched, and nobody is
// asked for a password. The error holds no password either. A branch that was rewritten there stays as it is here: the commits that it
// no longer has might be nowhere else.
func Fetch(ctx context.Context, git gitsafe.Program, common, ref string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it took longer than %s", timeout))
	defer cancel()
	remote, err := gitsafe.ReadRemote(ctx, common, ref)
	if err != nil {
		return err
	}
	repo, err := git.Open(ctx, common)
	if err != nil {
		return err
	}
	if repo.Shallow() {
		return errors.New("its history was cut off (a shallow clone), which is not fetched here")
	}
	sealed, err := repo.Seal(ctx, gitsafe.View{Refs: true, Online: true})
	if err != nil {
		return err
	}
	_, err = sealed.Output(ctx, "", "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-prune",
		"--no-show-forced-updates", "--refmap=", "--", remote.Address, "refs/heads/"+remote.Branch+":"+remote.Ref)
	if err = errors.Join(err, sealed.Close()); err != nil {
		return errors.New(remote.Hide(err.Error()))
	}
	return nil
}
