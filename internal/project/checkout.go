package project

import (
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

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// within is how long one small file of a repository may take.
const within = 2 * time.Second

// Read reads the file of the main checkout whose real path is main, by the rules of files that rule: neither it nor its folder may be
// a link. One that is missing is fs.ErrNotExist.
func Read(ctx context.Context, main string) ([]byte, error) {
	top, err := folder(unix.AT_FDCWD, main, main)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(top) }()
	own, err := folder(top, Folder, filepath.Join(main, Folder))
	if err != nil {
		return nil, err
	}
	// A file system that does not answer keeps using the descriptor after its time, so then it is left open.
	f, err := safeopen.ReadAt(ctx, own, Name, filepath.Join(main, Folder, Name), safeopen.Want{Max: maxSize, Within: within, Ruling: true})
	if !errors.Is(err, safeopen.ErrSlow) {
		_ = unix.Close(own)
	}
	return f.Data, err
}

// NotFollowed says what to do with rules or exceptions beside the file of a main checkout, "" where there are none.
func NotFollowed(main string) string {
	for _, name := range []string{"policies", policy.ExceptionsName} {
		old := filepath.Join(main, Folder, name)
		if _, err := os.Lstat(old); errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
			continue
		}
		return old + " is not followed: a repository keeps by its " + filepath.Join(Folder, Name) + " alone, and no rule of it is loaded. Write what is to stay " +
			"as protected or levels there, run winnow trust, and remove " + name
	}
	return ""
}

func folder(at int, name, path string) (int, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return -1, &fs.PathError{Op: "open", Path: path, Err: safeopen.ErrNotFolder}
	case err != nil:
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

// Worktrees lists the linked worktrees of the repository with that main checkout, by their real paths. One counts only if the
// repository's entry and the folder's .git lead to each other: an entry alone could name a folder of another repository.
func Worktrees(ctx context.Context, main string) ([]string, error) {
	admins := filepath.Join(main, ".git", "worktrees")
	entries, err := os.ReadDir(admins)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return []string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list worktrees: %w", err)
	}
	out := []string{}
	for _, e := range entries {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if path, ok := worktree(ctx, filepath.Join(admins, e.Name())); ok {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func worktree(ctx context.Context, admin string) (string, bool) {
	file, ok := line(ctx, filepath.Join(admin, "gitdir"), "")
	if !ok {
		return "", false
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(admin, file)
	}
	back, ok := line(ctx, file, "gitdir: ")
	if !ok {
		return "", false
	}
	if !filepath.IsAbs(back) {
		back = filepath.Join(filepath.Dir(file), back)
	}
	there, err1 := filepath.EvalSymlinks(back)
	here, err2 := filepath.EvalSymlinks(admin)
	real, err3 := filepath.EvalSymlinks(filepath.Dir(file))
	return real, err1 == nil && err2 == nil && err3 == nil && there == here
}

// line is the one line of a small file of git's, behind a prefix.
func line(ctx context.Context, path, prefix string) (string, bool) {
	f, err := safeopen.Read(ctx, path, safeopen.Want{Max: 8 << 10, Within: within})
	if err != nil {
		return "", false
	}
	text, ok := strings.CutPrefix(strings.TrimRight(string(f.Data), "\r\n"), prefix)
	return text, ok && text != "" && !strings.ContainsAny(text, "\n\x00")
}
