// Package gitsafe runs git on repositories that others may have written.
//
// A repository's configuration names programs, and so do its hooks and the user's own configuration. Checking them before git reads
// them is not enough: they are written in many ways, and can be changed between the check and the reading. So git never reads them.
// It is run in a git folder of our own making, with a configuration of our own; the repository gives only data: HEAD and the index,
// read once and handed over, its objects, and its refs where they are asked for. The few settings that change an answer and run
// nothing are carried over one by one.
package gitsafe

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"time"
)

// Program is the git that is run.
type Program struct {
	// Path is its name or path; "" is git.
	Path string
}

// ErrNoGit says that git could not be started at all, or does not even tell its version.
var ErrNoGit = errors.New("git cannot be run")

func (p Program) name() string { return cmp.Or(p.Path, "git") }

// Environ is env without GIT_*, which could lead git to another repository, configuration, index or program, and without what
// translates its messages, and with what keeps it from asking a person, fetching anything, taking locks that it can do without, and
// reading any configuration but that of the git folder that it is given. GIT_ALLOW_PROTOCOL names no transport that exists, so that
// nothing is fetched that a partial clone lacks.
func Environ(env []string) []string {
	out := make([]string, 0, len(env)+16)
	for _, kv := range env {
		if !strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, "LC_") && !strings.HasPrefix(kv, "LANGUAGE=") {
			out = append(out, kv)
		}
	}
	return append(out, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE=/dev/null/none")
}

// Answers says whether git answers at all: nil, or an error that wraps ErrNoGit. It asks for the version, in no repository.
func (p Program) Answers(ctx context.Context) error {
	var out bytes.Buffer
	cmd := command(ctx, p.name(), "version")
	cmd.Dir, cmd.Stdout = "/", &out
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w: git version: %w", ErrNoGit, context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("%w: git version: %w; install git, or see why it fails", ErrNoGit, err)
	case !strings.HasPrefix(out.String(), "git version "):
		return fmt.Errorf("%w: %s is not git, by its answer to git version; install git", ErrNoGit, p.name())
	}
	return nil
}

// startError tells a git that is not there, or may not be run, from one that failed.
func startError(err error) error {
	var notFound *exec.Error
	var path *fs.PathError
	if errors.As(err, &notFound) || errors.As(err, &path) {
		return fmt.Errorf("%w: %w; install git, or put it into the PATH", ErrNoGit, err)
	}
	return err
}

// grace is how long git's output may be open after its end: its children hold it, or this busy machine reads it late.
const grace = 10 * time.Second
