// Package git reads what git keeps on disk about a repository and its worktrees.
//
// What can be read from files is read from files; git itself is asked at most twice a repository, however many
// worktrees it has, once more for each worktree whose content is asked for, and a few times where it matters how work
// has landed (package landing). Nothing is written to a repository: not an index, not a ref, not a lock. What a
// repository says is written by everyone who works in it, agents among them, so git is run in a git folder of our own
// (gitsafe) and never reads the repository's configuration, nor the user's.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// ErrNone says that a folder is known not to be a git repository: it has no .git, and is not a bare one.
var ErrNone = errors.New("no git repository")

// maxSymrefs is how many symbolic references are followed, as in git (SYMREF_MAXDEPTH).
const maxSymrefs = 5

// Sizes above which a file is not what it claims to be, in bytes.
const (
	maxSmall  = 64 << 10
	maxReflog = 64 << 20
	maxRefs   = 256 << 20
	maxIndex  = 512 << 20
)

// Program is the git that is run.
type Program = gitsafe.Program

// opening is a repository that was opened, or that somebody is about to open: the others wait, since it is much to read. Where it does not
// answer, whoever waits is given up on as who asks is. What could not be opened is opened again for the next.
type opening[T any] struct {
	mu   sync.Mutex
	repo *T
}

func (o *opening[T]) open(how func() (*T, error)) (*T, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.repo != nil {
		return o.repo, nil
	}
	repo, err := how()
	if err == nil {
		o.repo = repo
	}
	return repo, err
}

// seal makes a git folder that shows view of the repository.
func (r *Repository) seal(ctx context.Context, git Program, view gitsafe.View) (*gitsafe.Sandbox, error) {
	repo, err := r.shown.open(func() (*gitsafe.Repository, error) { return git.Open(ctx, r.CommonDir) })
	if err != nil {
		return nil, notRun(err)
	}
	sealed, err := repo.Seal(ctx, view)
	return sealed, notRun(err)
}

// notRun says of an error that it came before git was run.
func notRun(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; git was not run", err)
}

// Await gives what ask gives. What has not come back a moment after ctx has ended hangs in the file system: it is left behind, with the
// cause of that end as the error.
func Await[T any](ctx context.Context, ask func() T) (answer T, err error) {
	lost := make(chan struct{})
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lateness, func() { close(lost) }) })()
	got := make(chan T, 1)
	go func() { got <- ask() }()
	select {
	case answer = <-got:
		return answer, nil
	case <-lost:
		return answer, context.Cause(ctx)
	}
}

// lateness is the time for git to be ended and for its output to be read.
const lateness = 50 * time.Millisecond

// readFile reads one of a repository's files: a regular one of this user or root, of at most limit bytes, and no link.
func readFile(path string, limit int64) (safeopen.File, error) {
	return safeopen.ReadNow(path, safeopen.Want{Max: limit})
}

// adminFolder is an open git folder, with the names of what is in it.
type adminFolder struct {
	safeopen.Dir
	path  string
	names []string
}

func openAdmin(path string) (*adminFolder, error) {
	d, err := safeopen.OpenDir(path)
	if err != nil {
		return nil, err
	}
	names, err := d.Names()
	if err != nil {
		d.Close()
		return nil, err
	}
	return &adminFolder{d, path, names}, nil
}

func (a *adminFolder) has(name string) bool { return slices.Contains(a.names, name) }

// read is readFile of what is at rel in the folder.
func (a *adminFolder) read(rel string, limit int64) (safeopen.File, error) {
	return a.Dir.Read(rel, safeopen.Want{Max: limit})
}

func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}

// later gives the later of two times, either of which may be the zero time.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// mainOf is the path of the main checkout of a repository with this format, "" where it has none or this is unknown.
func mainOf(f gitsafe.Format, common string) string {
	switch {
	case f.Bare:
		return ""
	case f.Worktree != "" && filepath.IsAbs(f.Worktree):
		return filepath.Clean(f.Worktree)
	case f.Worktree != "":
		return filepath.Join(common, f.Worktree)
	case filepath.Base(common) == ".git":
		return filepath.Dir(common)
	}
	return ""
}

// parsePath reads a file that holds one path in one line: gitdir and commondir of an admin folder. A path may hold spaces and
// even newlines; only the line's end is cut.
func parsePath(data []byte) (string, error) {
	path := string(bytes.TrimRight(data, "\r\n"))
	if path == "" || strings.ContainsRune(path, 0) {
		return "", errors.New("holds no path")
	}
	return path, nil
}

// ParseGitfile reads a .git file: "gitdir: " and a path.
func ParseGitfile(data []byte) (string, error) {
	rest, ok := bytes.CutPrefix(data, []byte("gitdir: "))
	if !ok {
		return "", errors.New(`does not begin with "gitdir: "`)
	}
	return parsePath(rest)
}

// parseHead reads a HEAD or any other loose ref: either the ref that it stands for, or a commit.
func parseHead(data []byte) (ref, oid string, err error) {
	text := strings.TrimRight(string(data), " \t\r\n")
	if name, ok := strings.CutPrefix(text, "ref:"); ok {
		name = strings.TrimLeft(name, " \t")
		if !validRef(name) {
			return "", "", errors.New("stands for a ref of an impossible name")
		}
		return name, "", nil
	}
	// git writes some of these with more behind the object's name, such as MERGE_HEAD and FETCH_HEAD.
	first, _, _ := strings.Cut(text, "\n")
	first, _, _ = strings.Cut(first, "\t")
	if !gitsafe.IsOID(first) {
		return "", "", errors.New("holds neither a ref nor a commit")
	}
	return "", first, nil
}

// validRef keeps a ref's name from leading out of the repository. It is wider than git check-ref-format.
func validRef(name string) bool {
	if !strings.HasPrefix(name, "refs/") || strings.ContainsAny(name, "\x00\n\\") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// parsePacked reads a packed-refs file into name and object. Peeled lines are passed over.
func parsePacked(data []byte) (map[string]string, error) {
	refs := make(map[string]string, bytes.Count(data, []byte{'\n'}))
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' || line[0] == '^' {
			continue
		}
		oid, name, ok := strings.Cut(line, " ")
		if !ok || !gitsafe.IsOID(oid) {
			return nil, fmt.Errorf("line %d is no ref", n)
		}
		refs[name] = oid
	}
	return refs, nil
}
