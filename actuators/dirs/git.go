package dirs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
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

// run gives what git printed. Its standard error is part of the error.
func (r repo) run(ctx context.Context, stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	all := append([]string{
		"--no-optional-locks", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0",
		"--git-dir=" + r.dir,
	}, args...)
	cmd := exec.CommandContext(ctx, r.program, all...)
	cmd.Dir = r.dir
	cmd.Env = gitEnv(os.Environ())
	cmd.Stdin = strings.NewReader(stdin)
	cmd.WaitDelay = time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
		return "", fmt.Errorf("git %s in %s: %w: %s", args[0], r.dir, err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

// gitEnv is env without what steers git, and with what keeps it from asking, locking, fetching and translating.
func gitEnv(env []string) []string {
	var out []string
	for _, e := range env {
		if !strings.HasPrefix(e, "GIT_") && !strings.HasPrefix(e, "LC_") && !strings.HasPrefix(e, "LANGUAGE=") {
			out = append(out, e)
		}
	}
	return append(out, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none")
}
