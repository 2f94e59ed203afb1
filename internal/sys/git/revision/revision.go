// Package revision reads a commit of a repository without a checkout.
package revision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing/fstest"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// The reasons for which a revision is not read.
var (
	// ErrNoRevision says that the repository has no commit of that name.
	ErrNoRevision = errors.New("no such revision")
	// ErrNoPath says that the commit has nothing at that path.
	ErrNoPath = errors.New("the revision has nothing at that path")
)

// Reading bounds what is read of a revision.
type Reading struct {
	// Names is how many files a folder may have, Bytes how much they may hold together. More is an error.
	Names int
	Bytes int64
	// File is how much one file may hold. A greater one is listed, and reading it is an error.
	File int64
	// Wanted says which files are read, by their paths below the folder; the others are listed, and reading one is an
	// error. nil wants all.
	Wanted func(path string) bool
}

// Revision is a commit of a repository, to be read without a checkout.
type Revision struct {
	// Commit is its whole name.
	Commit string

	repo *gitsafe.Repository
	name string
}

// Find finds the commit that name stands for in the repository that the folder lies in: a branch, a tag, a commit,
// or what leads to one from there (HEAD~1). HEAD is that of the checkout that the folder is in. Git is asked in a
// folder of our own, as everywhere here: it reads nothing but refs and objects, runs no hook and no filter, and
// fetches nothing. A name that stands for no commit is ErrNoRevision.
func Find(ctx context.Context, finder *git.Finder, program git.Program, folder, name string) (*Revision, error) {
	fail := func(err error) (*Revision, error) { return nil, fmt.Errorf("read revision %q: %w", name, err) }
	place, ok := finder.Around(folder)
	if !ok || place.CommonDir == "" {
		return fail(fmt.Errorf("%w around %s", git.ErrNone, folder))
	}
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, "\x00\n:") {
		return fail(fmt.Errorf("%w: it is no name of one", ErrNoRevision))
	}
	repo, err := program.Open(ctx, place.CommonDir)
	if err != nil {
		return fail(fmt.Errorf("%w; git was not run", err))
	}
	head, oid, err := git.ReadHead(cmp.Or(place.AdminDir, place.CommonDir))
	if err != nil {
		return fail(err)
	}
	if oid == "" {
		oid = "ref: " + head
	}
	sealed, err := repo.Seal(ctx, gitsafe.View{Refs: true, Head: oid})
	if err != nil {
		return fail(fmt.Errorf("%w; git was not run", err))
	}
	defer func() { _ = sealed.Close() }()
	out, err := sealed.Output(ctx, "", "rev-parse", "--quiet", "--verify", "--end-of-options", name+"^{commit}")
	commit := strings.TrimSpace(out)
	switch {
	case ctx.Err() != nil:
		return fail(context.Cause(ctx))
	case errors.Is(err, gitsafe.ErrNoGit):
		return fail(err)
	case err != nil || !gitsafe.IsOID(commit):
		if shallow, _ := filepath.Glob(filepath.Join(place.CommonDir, "shallow")); len(shallow) > 0 {
			return fail(fmt.Errorf("%w; this clone is shallow, so that older commits are missing: fetch them (git fetch --unshallow; fetch-depth: 0 in a workflow)", ErrNoRevision))
		}
		return fail(ErrNoRevision)
	}
	return &Revision{Commit: commit, repo: repo, name: name}, nil
}

// Time is when the commit was made.
func (r *Revision) Time(ctx context.Context) (time.Time, error) {
	sealed, err := r.repo.Seal(ctx, gitsafe.View{})
	if err != nil {
		return time.Time{}, err
	}
	defer func() { _ = sealed.Close() }()
	out, err := sealed.Output(ctx, "", "log", "-1", "--format=%ct", r.Commit)
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
	return time.Unix(seconds, 0), err
}

// Files are those below a folder of the revision; "" or "." is all of it. A link is listed and not followed. A
// repository inside is an error: what it holds is in no commit of this one.
func (r *Revision) Files(ctx context.Context, dir string, within Reading) (fs.FS, error) {
	dir = treePath(dir)
	fail := func(err error) (fs.FS, error) { return nil, fmt.Errorf("read %s:%s: %w", r.name, dir, err) }
	if strings.ContainsAny(dir, "\x00\n") {
		return fail(ErrNoPath)
	}
	sealed, err := r.repo.Seal(ctx, gitsafe.View{})
	if err != nil {
		return fail(fmt.Errorf("%w; git was not run", err))
	}
	defer func() { _ = sealed.Close() }()
	kind, err := sealed.Output(ctx, r.Commit+":"+dir+"\n", "cat-file", "--batch-check=%(objecttype)")
	switch kind = strings.TrimSpace(kind); {
	case err != nil:
		return fail(err)
	case kind == "blob":
		return fail(errors.New("it is a file; name the folder"))
	case kind != "tree":
		return fail(ErrNoPath)
	}
	l := listing{files: revisionFiles{fstest.MapFS{}, map[string]error{}}, within: within}
	_, err = sealed.Run(ctx, gitsafe.Call{Args: []string{"ls-tree", "-r", "-z", "-l", "--full-tree", r.Commit + ":" + dir}}, l.add)
	if err != nil {
		return fail(err)
	}
	if err := l.read(ctx, sealed); err != nil {
		return fail(err)
	}
	return l.files, nil
}

// File is one file of the revision, of at most so many bytes. Nothing there is ErrNoPath.
func (r *Revision) File(ctx context.Context, name string, most int64) ([]byte, error) {
	name = treePath(name)
	fail := func(err error) ([]byte, error) { return nil, fmt.Errorf("read %s:%s: %w", r.name, name, err) }
	if strings.ContainsAny(name, "\x00\n") {
		return fail(ErrNoPath)
	}
	sealed, err := r.repo.Seal(ctx, gitsafe.View{})
	if err != nil {
		return fail(fmt.Errorf("%w; git was not run", err))
	}
	defer func() { _ = sealed.Close() }()
	about, err := sealed.Output(ctx, r.Commit+":"+name+"\n", "cat-file", "--batch-check=%(objecttype) %(objectsize) %(objectname)")
	if err != nil {
		return fail(err)
	}
	fields := strings.Fields(about)
	if len(fields) != 3 || fields[0] != "blob" || !gitsafe.IsOID(fields[2]) {
		return fail(ErrNoPath)
	}
	if size, err := strconv.ParseInt(fields[1], 10, 64); err != nil || size > most {
		return fail(fmt.Errorf("%w: %s bytes, and %d are the most", safeopen.ErrTooLarge, fields[1], most))
	}
	out, err := sealed.Output(ctx, "", "cat-file", "blob", fields[2])
	if err != nil {
		return fail(err)
	}
	return []byte(out), nil
}

// treePath is a path in a revision as git takes it: from the repository's top, "" for all of it.
func treePath(name string) string { return strings.Trim(path.Clean("/"+name), "/") }

// revisionFiles are the files of a revision. Some are listed, and opening them is an error.
type revisionFiles struct {
	all     fstest.MapFS
	refused map[string]error
}

func (f revisionFiles) refuse(name string, kind fs.FileMode, why error) {
	f.all[name], f.refused[name] = &fstest.MapFile{Mode: kind | 0o444}, why
}

// Open implements fs.FS.
func (f revisionFiles) Open(name string) (fs.File, error) {
	if err := f.refused[name]; err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f.all.Open(name)
}

// Stat implements fs.StatFS: a link is itself.
func (f revisionFiles) Stat(name string) (fs.FileInfo, error) { return f.all.Lstat(name) }

// listing is what a tree lists, and what is to be read of it.
type listing struct {
	files  revisionFiles
	within Reading
	bytes  int64
	// oids and paths are of the files to read, in one order.
	oids, paths []string
	sizes       []int64
}

// add takes one line of ls-tree -l: mode, type, name and size, a tab, the path.
func (l *listing) add(record []byte) error {
	about, name, ok := strings.Cut(string(record), "\t")
	fields := strings.Fields(about)
	if !ok || len(fields) != 4 || !gitsafe.IsOID(fields[2]) {
		return gitsafe.ErrAnswer
	}
	if !fs.ValidPath(name) || name == "." {
		return fmt.Errorf("git lists something that cannot be a file here: %q", name)
	}
	if len(l.files.all) >= l.within.Names {
		return fmt.Errorf("%d files are the most", l.within.Names)
	}
	switch fields[0] {
	case "160000":
		return fmt.Errorf("%s is a repository of its own (a submodule), and what it holds would not be read: put the files themselves there", name)
	case "120000": // a link
		l.files.refuse(name, fs.ModeSymlink, safeopen.ErrLink)
		return nil
	}
	size, err := strconv.ParseInt(fields[3], 10, 64)
	if err != nil {
		return gitsafe.ErrAnswer
	}
	switch {
	case l.within.Wanted != nil && !l.within.Wanted(name):
		l.files.refuse(name, 0, errors.New("it is not a file that is read here"))
		return nil
	case size > l.within.File:
		l.files.refuse(name, 0, fmt.Errorf("%w: %d bytes, and %d are the most", safeopen.ErrTooLarge, size, l.within.File))
		return nil
	}
	if l.bytes += size; l.bytes > l.within.Bytes {
		return fmt.Errorf("%w: %d bytes in all are the most", safeopen.ErrTooLarge, l.within.Bytes)
	}
	l.files.all[name] = &fstest.MapFile{Mode: 0o444}
	l.oids, l.paths, l.sizes = append(l.oids, fields[2]), append(l.paths, name), append(l.sizes, size)
	return nil
}

// read reads the files that are wanted, in one run of git: for each a line with its name, type and size, its content,
// a line's end.
func (l *listing) read(ctx context.Context, sealed *gitsafe.Sandbox) error {
	if len(l.oids) == 0 {
		return nil
	}
	out, err := sealed.Output(ctx, strings.Join(l.oids, "\n")+"\n", "cat-file", "--batch")
	if err != nil {
		return err
	}
	for i, oid := range l.oids {
		head, rest, ok := strings.Cut(out, "\n")
		if want := fmt.Sprintf("%s blob %d", oid, l.sizes[i]); !ok || head != want || int64(len(rest)) <= l.sizes[i] {
			return fmt.Errorf("%w: %s is missing in the repository, or is not what the tree says", gitsafe.ErrAnswer, l.paths[i])
		}
		l.files.all[l.paths[i]].Data = []byte(rest[:l.sizes[i]])
		out = rest[l.sizes[i]+1:]
	}
	return nil
}
