package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/git/landing"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// Repository is what all worktrees of a repository share.
type Repository struct {
	CommonDir string
	// Main is the main checkout's path, "" for a bare repository.
	Main string
	// Upstream is the remote's default branch, such as refs/remotes/origin/main, or, in a repository without any
	// remote, its own, such as refs/heads/main; "" where it is missing or not certain.
	Upstream string
	// FetchedAt is when Upstream last moved, or anything was last fetched; the zero time where nothing shows it.
	FetchedAt time.Time

	upstream string // the commit that Upstream stands for
	finder   *Finder
	refs     Refs
	format   gitsafe.Format
	follow   follow
	records  func() (records, error)
	shown    opening[gitsafe.Repository] // what git is to know of it, read once for all questions to git
	ahead    landing.Ahead               // filled by MeasureAhead
	stashed  []string                    // what the stash's reflog names; all but the newest stash are nowhere else
}

// Open reads what the repository with that common folder has in files. It runs nothing.
func (f *Finder) Open(common string) (*Repository, error) {
	if !f.once {
		return f.open(common)
	}
	kept, _ := f.opened.LoadOrStore(common, &opening[Repository]{})
	return kept.(*opening[Repository]).open(func() (*Repository, error) { return f.open(common) })
}

func (f *Finder) open(common string) (*Repository, error) {
	config := filepath.Join(common, "config")
	vars, err := gitsafe.ReadConfig(context.Background(), config)
	if err != nil {
		return nil, fmt.Errorf("open repository: %w", err)
	}
	format, err := gitsafe.FormatOf(vars)
	if err != nil {
		return nil, fmt.Errorf("open repository: %q: %w", config, err)
	}
	follow := following(vars)
	if format.Reftable || exists(filepath.Join(common, "reftable")) {
		return nil, fmt.Errorf("open repository: %q keeps its refs in a format that is not read here (reftable)", common)
	}
	r := &Repository{finder: f, CommonDir: common, Main: mainOf(format, common), refs: NewRefs(common), format: format, follow: follow}
	r.records = sync.OnceValues(r.readRecords)
	r.Upstream, r.upstream, err = r.refs.upstream(follow.remote())
	if err == nil && r.Upstream == "" && !follow.unread && len(follow.remotes) == 0 {
		r.Upstream, r.upstream, err = r.refs.local()
	}
	if err == nil {
		r.stashed, err = r.stash()
	}
	if err != nil {
		return nil, fmt.Errorf("open repository: %w", err)
	}
	r.FetchedAt = r.fetched()
	return r, nil
}

func (r *Repository) stash() ([]string, error) {
	oid, err := r.refs.Resolve(r.CommonDir, "refs/stash")
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	oids := []string{oid}
	log, err := readReflog(filepath.Join(r.CommonDir, "logs", "refs", "stash"))
	if err != nil && !gone(err) {
		return nil, err
	}
	for _, e := range log.entries {
		oids = append(oids, e.new)
	}
	return oids, nil
}

// fetched is the latest sign that the remote was asked. An empty FETCH_HEAD is what a failed fetch leaves behind.
func (r *Repository) fetched() time.Time {
	at := fetchHead(r.CommonDir)
	entries, _ := r.Entries()
	for _, admin := range entries {
		at = later(at, fetchHead(admin))
	}
	if r.Upstream == "" {
		return at
	}
	for _, path := range []string{r.Upstream, filepath.Join("logs", r.Upstream)} {
		if info, err := os.Stat(filepath.Join(r.CommonDir, path)); err == nil {
			at = later(at, info.ModTime())
		}
	}
	return at
}

func fetchHead(admin string) time.Time {
	var st unix.Stat_t
	if err := unix.Lstat(filepath.Join(admin, "FETCH_HEAD"), &st); err != nil || st.Size == 0 {
		return time.Time{}
	}
	return time.Unix(st.Mtim.Unix())
}

// Entries lists the admin folders of the repository's linked worktrees, also of those whose own folder is not there
// any more.
func (r *Repository) Entries() ([]string, error) {
	folder := filepath.Join(r.CommonDir, "worktrees")
	entries, err := os.ReadDir(folder)
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list worktrees: %w", err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, filepath.Join(folder, e.Name()))
		}
	}
	return out, nil
}

// checkedOut gives the branches that linked worktrees have checked out, by their whole names. One entry that cannot be
// read is an error.
func (r *Repository) checkedOut() (map[string]bool, error) {
	entries, err := r.Entries()
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, admin := range entries {
		ref, _, err := ReadHead(admin)
		switch {
		case gone(err):
		case err != nil:
			return nil, err
		default:
			names[ref] = true
		}
	}
	return names, nil
}

// Tree gives the real path of the worktree that an admin folder is for. fs.ErrNotExist says that this folder, or what
// says where it is, is not there.
func (f *Finder) Tree(admin string) (string, error) {
	if path, known := f.trees.Load(admin); known {
		return path.(string), nil
	}
	path, err := EntryPath(admin)
	if err != nil {
		return "", err
	}
	if path, err = f.realPath(admin, path); err != nil {
		return "", fmt.Errorf("read worktree's entry: %w", err)
	}
	if f.once {
		kept, _ := f.trees.LoadOrStore(admin, path)
		return kept.(string), nil
	}
	return path, nil
}

// EntryPath is the path that an admin folder names as its worktree's, whether or not that is there. Since git 2.48 the
// file that names it may do so relative to the admin folder.
func EntryPath(admin string) (string, error) {
	text, err := readFile(filepath.Join(admin, "gitdir"), maxSmall)
	if err != nil {
		return "", fmt.Errorf("read worktree's entry: %w", err)
	}
	dot, err := parsePath(text.Data)
	if err != nil {
		return "", fmt.Errorf("read worktree's entry: gitdir in %q %w", admin, err)
	}
	path := filepath.Dir(dot)
	if !filepath.IsAbs(path) {
		path = filepath.Join(admin, path)
	}
	return path, nil
}
