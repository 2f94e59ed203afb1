package act

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

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
