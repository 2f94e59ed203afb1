// Package project reads what a repository says about itself to Winnow, in .winnow/config.yaml of its main checkout, and remembers
// which of these files a user trusts.
//
// Such a file comes with a clone, so it is not trusted until the user says so. What it may say is small and can only keep
// things: entries that keep, and rules that are turned off there. All of it is data: no rule of a repository is loaded.
package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/keep"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
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

// Folder and Name are where the file lies in a checkout.
const (
	Folder = ".winnow"
	Name   = "config.yaml"
)

// maxSize and maxLevels bound the file: its bytes, and the rules that it turns off.
const (
	maxSize   = 64 << 10
	maxLevels = 100
)

// File is what a project says.
type File struct {
	Version int `json:"version" required:"a file of Winnow begins with version: 1"`
	// Protected are the entries that keep, with paths relative to the checkout.
	Protected []snapshot.Keep `json:"protected"`
	// Levels turns rules off, by their ids.
	Levels map[string]string `json:"levels"`
}

// Parse reads a project's file, which messages call name. The whole of it must be understood.
func Parse(name string, data []byte) (File, error) {
	var f File
	from := keep.Source{File: name, Inside: true}
	read, err := strict.Read(name, data, strict.Shape{
		Type: reflect.TypeFor[File](), Leaf: func(t reflect.Type, n *yaml.Node, at string) (string, bool) {
			if rule, ok := strings.CutPrefix(at, "levels."); ok {
				return wrongLevel(rule, n.Value), true
			}
			return from.Leaf(t, n, at)
		},
	}, &f)
	if err != nil {
		return File{}, err
	}
	wrong := from.Check(read, "protected", f.Protected)
	if f.Version != 1 {
		wrong = append(wrong, read.Bad(read.Line("version"), "version is %d; this program reads version 1", f.Version)...)
	}
	if n := len(f.Levels); n > maxLevels {
		wrong = append(wrong, read.Bad(read.Line("levels"), "levels has %d entries; %d are the most", n, maxLevels)...)
	}
	if len(wrong) > 0 {
		return File{}, wrong
	}
	return f, nil
}

// wrongLevel says what is wrong with the level of a rule, "" for nothing.
func wrongLevel(rule, level string) string {
	switch {
	case !decision.Reaps(rule):
		return fmt.Sprintf("%q is no rule that reaps (%s...); a project can turn off no other", rule, decision.ReapFamily)
	case level != decision.Off:
		return fmt.Sprintf("it is %q; a project can say %s and nothing else", level, decision.Off)
	}
	return ""
}

// Off lists the rules that the project turns off, sorted.
func (f *File) Off() []string {
	return append([]string{}, slices.Sorted(maps.Keys(f.Levels))...)
}
