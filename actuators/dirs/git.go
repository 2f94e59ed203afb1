package dirs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"winnow/internal/foreign"
	"winnow/internal/gitcmd"
)

// git runs git on one repository, so that nothing that the repository configures is run: a repository's configuration, hooks
// among it, is written by whoever works in it.
type git struct {
	program string
	timeout time.Duration
}

// repo names a repository: dir is a git folder, which may be a linked worktree's own one.
type repo struct {
	git
	dir string
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
func (r repo) run(ctx context.Context, stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	sealed, err := r.seal(ctx, args[0])
	if err != nil {
		return "", fmt.Errorf("git %s in %s: %w; git was not run", args[0], r.dir, err)
	}
	out, err := sealed.Output(ctx, stdin, args...)
	if err := errors.Join(err, sealed.Close()); err != nil {
		return "", fmt.Errorf("git %s in %s: %w", args[0], r.dir, err)
	}
	return out, nil
}

func (r repo) seal(ctx context.Context, question string) (*gitcmd.Sealed, error) {
	if _, err := foreign.Folder(r.dir); err != nil {
		return nil, err
	}
	common, err := r.commonFolder(ctx)
	if err != nil {
		return nil, err
	}
	head, err := foreign.Read(ctx, filepath.Join(r.dir, "HEAD"), foreign.Want{Max: maxHead})
	if err != nil {
		return nil, err
	}
	var index foreign.File
	if slices.Contains(aboutIndex, question) {
		index, err = foreign.Read(ctx, filepath.Join(r.dir, "index"), foreign.Want{Max: maxIndex})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	repository, err := gitcmd.Program{Path: r.program}.Open(ctx, common)
	if err != nil {
		return nil, err
	}
	return repository.Seal(ctx, gitcmd.View{Admin: r.dir, Head: strings.TrimRight(string(head.Data), " \t\r\n"),
		Index: index.Data, Mod: index.Mod, Refs: true})
}

// aboutIndex are the questions that git reads the index for.
var aboutIndex = []string{"diff-index", "ls-files"}

// commonFolder is the git folder of the repository that dir belongs to: dir itself, or what a linked worktree's commondir names.
func (r repo) commonFolder(ctx context.Context) (string, error) {
	f, err := foreign.Read(ctx, filepath.Join(r.dir, "commondir"), foreign.Want{Max: maxHead})
	if errors.Is(err, fs.ErrNotExist) {
		return r.dir, nil
	}
	if err != nil {
		return "", err
	}
	path := strings.TrimRight(string(f.Data), "\r\n")
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.dir, path)
	}
	return filepath.EvalSymlinks(path)
}

// gitEnv is env without what steers git, and with what keeps it from asking, locking, fetching and translating.
func gitEnv(env []string) []string { return gitcmd.Environ(env) }
