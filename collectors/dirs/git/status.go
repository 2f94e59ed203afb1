package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Content is what lies in a worktree that is not in a commit.
type Content struct {
	// Dirty counts tracked paths that differ from HEAD, staged and unmerged ones among them, Untracked the untracked ones.
	Dirty, Untracked int
	// Ignored are the ignored paths, a folder that is ignored as a whole as one, with a slash at its end.
	Ignored []string
	// Gitlinks are the paths of the submodules that the index names; nil when they are not known.
	Gitlinks []string
	// Hidden says why Dirty is not to be trusted; nil when it is.
	Hidden error
}

// unmasked undoes the settings that would make git overlook a change. What a user has set for himself and a repository for
// itself are both overruled; the worst that comes of it is a file that counts as changed.
var unmasked = []string{
	"-c", "core.ignoreStat=false", "-c", "core.trustctime=true", "-c", "core.checkStat=default", "-c", "core.ignoreCase=false",
	"-c", "core.symlinks=true",
}

// Status asks git what lies in the worktree: one run. An exit code that is not zero, or anything on stderr, is an error and no
// answer, since git then did not see everything.
//
// The admin folder is given to git and not looked for: looking for it, git may rewrite the admin folder's gitdir file, and the
// repository's configuration could lead it to another folder (core.worktree). git's check of the owner comes with looking,
// so it is made here.
func (r *Repository) Status(ctx context.Context, git Program, w *Worktree) (Content, error) {
	env, err := r.guarded(w)
	if err != nil {
		return Content{}, err
	}
	var content Content
	if idx, err := readIndex(w.AdminDir, r.hashSize()); err != nil {
		content.Hidden = err
	} else {
		content.Gitlinks = append([]string{}, idx.gitlinks...)
		content.Hidden = idx.hides(w.Path)
	}
	args := append(append([]string{}, unmasked...), "-C", w.Path, "status", "--porcelain=v2", "-z", "--untracked-files=all",
		"--ignored=matching", "--ignore-submodules=dirty", "--no-renames", "--no-ahead-behind")
	p := porcelain{content: &content}
	stderr, err := git.run(ctx, call{dir: w.Path, env: env, args: args, until: 0}, p.record)
	if err == nil && stderr != "" {
		line, _, _ := bytes.Cut([]byte(stderr), []byte("\n"))
		err = fmt.Errorf("git complained: %s", line)
	}
	if err == nil && p.origin {
		err = errors.New("git's output was cut off")
	}
	if err != nil {
		return Content{}, fmt.Errorf("ask git for the content: %w", err)
	}
	return content, nil
}

func (r *Repository) hashSize() int {
	if r.config.sha256 {
		return 32
	}
	return 20
}

// guarded checks that it is safe to run git on the worktree, and gives the environment to do it in: one that names the git
// folder and the worktree, and takes away every content filter that the repository's configuration defines. Filters are programs
// that git runs on files whose time is newer than the index knows.
func (r *Repository) guarded(w *Worktree) ([]string, error) {
	for _, path := range []string{w.Path, w.AdminDir, r.CommonDir} {
		if err := ownedByUs(path); err != nil {
			return nil, fmt.Errorf("ask git for the content: %w; git was not run", err)
		}
	}
	paths := []string{filepath.Join(r.CommonDir, "config"), filepath.Join(r.CommonDir, "config.worktree")}
	if w.AdminDir != r.CommonDir {
		paths = append(paths, filepath.Join(w.AdminDir, "config.worktree"))
	}
	c, err := readConfig(paths...)
	if err != nil {
		return nil, fmt.Errorf("ask git for the content: %w; git was not run", err)
	}
	if c.includes {
		return nil, errors.New("ask git for the content: the repository's configuration includes other files, which may " +
			"name programs to run; git was not run")
	}
	env := []string{"GIT_DIR=" + w.AdminDir, "GIT_WORK_TREE=" + w.Path}
	return append(env, withoutFilters(c.filters)...), nil
}

// withoutFilters sets filters to nothing, by environment and not by -c, whose keys cannot hold an equals sign. An empty process
// also keeps a clean that is set elsewhere from running (convert.c, apply_filter).
func withoutFilters(names []string) []string {
	var env []string
	n := 0
	for _, name := range names {
		for _, kv := range [][2]string{{"clean", ""}, {"smudge", ""}, {"process", ""}, {"required", "false"}} {
			i := strconv.Itoa(n)
			env = append(env, "GIT_CONFIG_KEY_"+i+"=filter."+name+"."+kv[0], "GIT_CONFIG_VALUE_"+i+"="+kv[1])
			n++
		}
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(n))
}

// ownedByUs refuses what belongs to another user, whose configuration git would otherwise follow in our name.
func ownedByUs(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%q belongs to user %d", path, st.Uid)
	}
	return nil
}

// hides says whether the index keeps git status from seeing changes below path: entries that are never compared, and files that
// are there although the index says that they are left out.
func (idx index) hides(path string) error {
	if idx.assumed > 0 {
		return fmt.Errorf("%d files are marked assume-unchanged, so that changes to them do not show", idx.assumed)
	}
	for _, name := range idx.skipped {
		if exists(filepath.Join(path, name)) {
			return fmt.Errorf("%q is there although it is marked skip-worktree, so that changes to it do not show", name)
		}
	}
	return nil
}

// porcelain reads what git status --porcelain=v2 -z prints.
type porcelain struct {
	content *Content
	origin  bool // the next record is the path that a renamed file had
}

func (p *porcelain) record(record []byte) error {
	if p.origin {
		p.origin = false
		return nil
	}
	if len(record) < 3 || record[1] != ' ' {
		return errors.New("git's answer was not understood")
	}
	switch record[0] {
	case '#':
	case '1', 'u':
		p.content.Dirty++
	case '2':
		p.content.Dirty++
		p.origin = true
	case '?':
		p.content.Untracked++
	case '!':
		p.content.Ignored = append(p.content.Ignored, string(record[2:]))
	default:
		return errors.New("git's answer was not understood")
	}
	return nil
}
