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
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
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

// Sizes above which a file is not what it claims to be, in bytes.
const (
	maxConfig  = 1 << 20
	maxPattern = 4 << 20
	maxShallow = 64 << 20
	maxPath    = 64 << 10
)

// Format is what a repository's configuration says of the repository itself. Git reads that without following includes, and so
// does this.
type Format struct {
	Bare     bool
	Worktree string
	SHA256   bool
	// Reftable is true where refs and reflogs are not files.
	Reftable bool
	// OwnConfig is true where each worktree has a configuration of its own beside that of the repository (config.worktree).
	OwnConfig bool
}

// ReadConfig reads a configuration file. One that is not there is empty.
func ReadConfig(ctx context.Context, path string) ([]Variable, error) {
	f, err := safeopen.Read(ctx, path, safeopen.Want{Max: maxConfig})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	vars, err := ParseConfig(f.Data)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %q %w", path, err)
	}
	return vars, nil
}

// plain are the extensions under which a repository is read like any other.
var plain = []string{"noop", "noop-v1", "partialclone", "preciousobjects", "relativeworktrees"}

// FormatOf reads a repository's format. A later one than is known here, or an extension that is not, is an error: git refuses
// such a repository too.
func FormatOf(vars []Variable) (Format, error) {
	var f Format
	version, unknown := "", ""
	for _, v := range vars {
		var err error
		section, key, _ := strings.Cut(v.Name, ".")
		switch {
		case v.Name == "core.bare":
			f.Bare, err = v.Bool()
		case v.Name == "core.worktree":
			f.Worktree = v.Value
		case v.Name == "core.repositoryformatversion":
			version = v.Value
		case section != "extensions":
		case key == "worktreeconfig":
			f.OwnConfig, err = v.Bool()
		case key == "objectformat":
			f.SHA256 = v.Value == "sha256"
			if v.Value != "sha256" && v.Value != "sha1" {
				err = fmt.Errorf("%s is %q, which is not read here", v.Name, v.Value)
			}
		case key == "refstorage":
			f.Reftable = !strings.EqualFold(v.Value, "files")
		case !slices.Contains(plain, key):
			unknown = v.Name
		}
		if err != nil {
			return Format{}, fmt.Errorf("read the repository's format: %w", err)
		}
	}
	switch {
	case version != "" && version != "0" && version != "1":
		return Format{}, fmt.Errorf("read the repository's format: version %q is not read here", version)
	case version != "1" && f.SHA256:
		return Format{}, errors.New("read the repository's format: extensions.objectformat needs version 1")
	case version == "1" && unknown != "":
		return Format{}, fmt.Errorf("read the repository's format: %s is an extension that is not read here", unknown)
	}
	return f, nil
}
