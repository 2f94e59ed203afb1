package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// Refs resolves the refs of one repository that keeps them in files.
type Refs struct {
	common string
	packed func() (map[string]string, error)
}

// NewRefs gives the refs of the repository with that common folder. Packed refs are read once.
func NewRefs(common string) Refs {
	return Refs{common: common, packed: sync.OnceValues(func() (map[string]string, error) {
		f, err := readFile(filepath.Join(common, "packed-refs"), maxRefs)
		if gone(err) {
			return nil, nil
		}
		var packed map[string]string
		if err == nil {
			packed, err = parsePacked(f.Data)
		}
		if err != nil {
			return nil, fmt.Errorf("read packed refs: %w", err)
		}
		return packed, nil
	})}
}

// isWorktreeRef says whether a ref belongs to one worktree and not to the repository (gitrevisions(7), "refs" of
// gitglossary).
func isWorktreeRef(name string) bool {
	return strings.HasPrefix(name, "refs/worktree/") || strings.HasPrefix(name, "refs/bisect/") ||
		strings.HasPrefix(name, "refs/rewritten/")
}

// Resolve gives the object that a ref stands for, seen from the worktree with that admin folder. fs.ErrNotExist says
// that there is no such ref, as with a branch that has no commit yet.
func (r Refs) Resolve(admin, name string) (string, error) {
	for range maxSymrefs {
		base := r.common
		if isWorktreeRef(name) {
			base = admin
		}
		f, err := readFile(filepath.Join(base, name), maxSmall)
		if gone(err) || errors.Is(err, safeopen.ErrNotRegular) {
			packed, err := r.packed()
			if err != nil {
				return "", err
			}
			if oid, ok := packed[name]; ok && !isWorktreeRef(name) {
				return oid, nil
			}
			return "", fmt.Errorf("resolve %s: %w", name, fs.ErrNotExist)
		}
		if err != nil {
			return "", fmt.Errorf("resolve %s: %w", name, err)
		}
		ref, oid, err := parseHead(f.Data)
		if err != nil {
			return "", fmt.Errorf("resolve %s: it %w", name, err)
		}
		if oid != "" {
			return oid, nil
		}
		name = ref
	}
	return "", fmt.Errorf("resolve %s: too many symbolic refs", name)
}

// upstream finds the remote's default branch: what a remote's HEAD stands for, origin's before the only other one;
// else main or master of the named remote, if just one of them exists. "" says that it is missing or not certain.
func (r Refs) upstream(named string) (name, oid string, err error) {
	remotes, err := r.remotes()
	if err != nil {
		return "", "", fmt.Errorf("find upstream: %w", err)
	}
	heads := map[string]string{}
	for _, remote := range remotes {
		if ref, _, err := ReadHead(filepath.Join(r.common, remote)); err == nil && ref != "" {
			heads[remote] = ref
		}
	}
	ref := heads["refs/remotes/origin"]
	if len(heads) == 1 {
		for _, ref = range heads {
		}
	}
	if ref != "" {
		if oid, err := r.Resolve(r.common, ref); err == nil {
			return ref, oid, nil
		}
	}
	return r.guess(named)
}

// remotes are the folders of refs that were fetched, such as refs/remotes/origin, also those whose refs are all packed.
func (r Refs) remotes() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(r.common, "refs", "remotes"))
	if err != nil && !gone(err) {
		return nil, fmt.Errorf("list refs: %w", err)
	}
	packed, err := r.packed()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		out = append(out, "refs/remotes/"+e.Name())
	}
	for name := range packed {
		if parts := strings.Split(name, "/"); len(parts) > 3 && parts[1] == "remotes" && proper(name) {
			out = append(out, strings.Join(parts[:3], "/"))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// guess tries the usual names of a remote's default branch.
func (r Refs) guess(remote string) (name, oid string, err error) {
	for _, ref := range []string{"refs/remotes/" + remote + "/main", "refs/remotes/" + remote + "/master"} {
		if !validRef(ref) {
			return "", "", nil
		}
		at, err := r.Resolve(r.common, ref)
		switch {
		case err == nil && name != "": // both exist
			return "", "", nil
		case err == nil:
			name, oid = ref, at
		case !errors.Is(err, fs.ErrNotExist):
			return "", "", fmt.Errorf("find upstream: %w", err)
		}
	}
	return name, oid, nil
}

// local finds the default branch of a repository without remotes: of main, master and trunk the one that the main
// checkout has checked out, else the only one that exists. "" says that it is not certain.
func (r Refs) local() (name, oid string, err error) {
	seen := false
	if err := r.eachRef("refs/remotes/", func(string, string) { seen = true }); err != nil || seen {
		return "", "", err
	}
	head, _, err := ReadHead(r.common)
	if err != nil {
		return "", "", nil
	}
	there := map[string]string{}
	for _, ref := range []string{"refs/heads/main", "refs/heads/master", "refs/heads/trunk"} {
		at, err := r.Resolve(r.common, ref)
		switch {
		case err == nil && ref == head:
			return ref, at, nil
		case err == nil:
			there[ref], name = at, ref
		case !errors.Is(err, fs.ErrNotExist):
			return "", "", fmt.Errorf("find the default branch: %w", err)
		}
	}
	if len(there) != 1 {
		return "", "", nil
	}
	return name, there[name], nil
}

// looseFiles hands over each file below a folder of refs that is still there, with why it could not be read. A folder
// that is missing has none.
func looseFiles(folder string, each func(path string, f safeopen.File, err error) error) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case gone(err):
			return nil
		case err != nil || d.IsDir():
			return err
		}
		f, err := readFile(path, maxSmall)
		if gone(err) {
			return nil
		}
		return each(path, f, err)
	})
}

// looseRefs lists the objects that the refs below folder stand for, in a worktree's own refs.
func looseRefs(folder string) ([]string, error) {
	var oids []string
	err := looseFiles(folder, func(path string, f safeopen.File, err error) error {
		if err != nil {
			return err
		}
		ref, oid, err := parseHead(f.Data)
		if err != nil {
			return fmt.Errorf("%q %w", path, err)
		}
		if ref == "" {
			oids = append(oids, oid)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the worktree's own refs: %w", err)
	}
	slices.Sort(oids)
	return oids, nil
}

// ReadHead gives what the HEAD in a git folder holds: a ref, or a commit.
func ReadHead(admin string) (ref, oid string, err error) {
	f, err := readFile(filepath.Join(admin, "HEAD"), maxSmall)
	if err == nil {
		ref, oid, err = parseHead(f.Data)
	}
	if err != nil {
		return "", "", fmt.Errorf("read HEAD in %s: %w", admin, err)
	}
	return ref, oid, nil
}

// Head gives the commit that the HEAD in a git folder of the repository leads to.
func (r Refs) Head(admin string) (string, error) {
	ref, oid, err := ReadHead(admin)
	if err != nil || oid != "" {
		return oid, err
	}
	return r.Resolve(admin, ref)
}

// reachableFrom gives what branches, tags and remote branches stand for. One that cannot be read, or whose name git
// would not take for a ref's, keeps nothing: at most more counts as reached by nothing else. Symbolic ones stand for
// others of them. The refs named in but are left out.
func (r Refs) reachableFrom(size int, but map[string]bool) (map[string]bool, error) {
	oids := map[string]bool{}
	for _, prefix := range []string{"refs/heads/", "refs/tags/", "refs/remotes/"} {
		if err := r.eachRef(prefix, func(name, oid string) {
			if !but[name] && len(oid) == 2*size && !gitsafe.IsZero(oid) {
				oids[oid] = true
			}
		}); err != nil {
			return nil, err
		}
	}
	return oids, nil
}

// eachRef hands over each ref below prefix with a name that git takes for a ref's, and what it stands for; "" where that is another ref, or
// cannot be read. A packed ref does not count where a file has its name.
func (r Refs) eachRef(prefix string, take func(name, oid string)) error {
	packed, err := r.packed()
	if err != nil {
		return err
	}
	top, loose := filepath.Join(r.common, prefix), map[string]bool{}
	err = looseFiles(top, func(path string, f safeopen.File, err error) error {
		name := prefix + strings.TrimPrefix(path[len(top):], "/")
		if !proper(name) {
			return nil
		}
		_, oid, perr := parseHead(f.Data)
		if err != nil || perr != nil {
			oid = ""
		}
		loose[name] = true
		take(name, oid)
		return nil
	})
	if err != nil {
		return fmt.Errorf("list refs: %w", err)
	}
	for name, oid := range packed {
		if strings.HasPrefix(name, prefix) && !loose[name] && proper(name) {
			take(name, oid)
		}
	}
	return nil
}

// proper says whether git takes a name for a ref's (git-check-ref-format(1)).
func proper(name string) bool {
	if strings.ContainsAny(name, " ~^:?*[\\\x7f") || strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") ||
		strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

// entry is one line of a reflog: what a ref was, what it became, and what was done.
type entry struct {
	old, new string
	message  string
}

// parseReflog reads a reflog: "<old> <new> <who> <seconds> <zone>\t<what>" a line, oldest first. One line that cannot be
// understood makes the whole unknown, since it may have named the only copy of a commit.
func parseReflog(data []byte) ([]entry, error) {
	var entries []entry
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		head, message, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		fields := strings.SplitN(head, " ", 3)
		if len(fields) < 3 || !gitsafe.IsOID(fields[0]) || !gitsafe.IsOID(fields[1]) {
			return nil, fmt.Errorf("line %d is no entry", n)
		}
		entries = append(entries, entry{old: fields[0], new: fields[1], message: message})
	}
	return entries, nil
}

// made says whether an entry's message tells of a commit that was made here, and not of a ref that only moved: a checkout,
// a reset, a fast-forward, the start and the end of a rebase.
func made(message string) bool {
	what, detail, _ := strings.Cut(message, ":")
	if strings.Contains(strings.ToLower(detail), "fast-forward") && !strings.HasPrefix(what, "commit") {
		return false
	}
	verb, rest, _ := strings.Cut(what, " ")
	switch verb {
	case "commit", "cherry-pick", "revert", "am", "merge":
		return true
	case "rebase":
		return step(rest)
	case "pull":
		return strings.Contains(detail, "Merge made") || (strings.Contains(rest, "(") && step(rest))
	}
	return false
}

// step says whether a rebase's part in brackets made a commit. "rebase: <subject>", without brackets, is what older versions
// wrote for each commit that was put back.
func step(rest string) bool {
	open := strings.LastIndexByte(rest, '(')
	if open < 0 {
		return !strings.Contains(rest, "finished")
	}
	switch strings.TrimSuffix(rest[open+1:], ")") {
	case "start", "finish", "abort", "reset":
		return false
	}
	return true
}

// commitsMade gives the commits that the reflogs say were made. The same commit stands in the reflog of HEAD and in that of the branch.
func commitsMade(logs ...[]entry) map[string]bool {
	seen := map[string]bool{}
	for _, log := range logs {
		for _, e := range log {
			if made(e.message) && !gitsafe.IsZero(e.new) {
				seen[e.new] = true
			}
		}
	}
	return seen
}

// line is the folder of refs that the upstream is in, such as refs/remotes/origin/, or refs/heads/ in a repository without a remote.
func (r *Repository) line() string {
	parts := strings.SplitAfterN(r.Upstream, "/", 4)
	return strings.Join(parts[:len(parts)-1], "")
}

// LandingBranches gives the branches beside the upstream that have one of these names there, which are names or globs.
func (r *Repository) LandingBranches(globs []string) ([]string, error) {
	if len(globs) == 0 || r.Upstream == "" {
		return nil, nil
	}
	found, line := []string{}, r.line()
	take := func(name, _ string) {
		short, beside := strings.CutPrefix(name, line)
		hit := func(glob string) bool { ok, err := path.Match(glob, short); return ok && err == nil }
		if beside && name != r.Upstream && slices.ContainsFunc(globs, hit) {
			found = append(found, name)
		}
	}
	err := r.refs.eachRef(line, take)
	slices.Sort(found)
	return found, err
}

// ReadBases fills in the branches beside the upstream on which the work of a worktree has landed too: the named ones, and those that it was
// made from, by the first line of its branch's reflog, branch.<name>.merge and branch.<name>.gh-merge-base. They are remote branches but in
// a repository without a remote: what a local branch alone has is in no other place.
//
// A branch of the same name is where the branch itself is published. So is one that ever stood at a commit which was made here: work that
// waits for a review is on such a branch, under any name. Where no commit was made here, nothing can have landed there.
func (r *Repository) ReadBases(w *Worktree, named []string) {
	name, local := strings.CutPrefix(w.Branch, "refs/heads/")
	if !local || r.Upstream == "" {
		return
	}
	own := func(ref string) bool { return ref == r.Upstream || ref == r.line()+name }
	w.Bases = slices.DeleteFunc(slices.Clone(named), own)
	if len(w.made) == 0 || w.created.new == "" {
		return
	}
	var origins []string
	if from, ok := strings.CutPrefix(w.created.message, "branch: Created from "); ok {
		origins = append(origins, from)
	}
	if b := r.follow.branches[name]; b != nil && !r.follow.unread {
		origins = append(origins, r.follow.tracking(b), b.base)
	}
	for _, from := range origins {
		ref := r.fullName(from)
		if ref != "" && !own(ref) && !strings.HasSuffix(ref, "/"+name) && !slices.Contains(w.Bases, ref) && !r.published(w, ref) {
			w.Bases = append(w.Bases, ref)
		}
	}
}

// fullName gives the branch beside the upstream, or of another remote, that a name stands for; "" where it is not known. Git takes a local
// branch before a remote one, and that stands here for the remote one of its name.
func (r *Repository) fullName(name string) string {
	short := strings.TrimPrefix(name, "refs/heads/")
	for _, ref := range []string{r.line() + short, "refs/remotes/" + strings.TrimPrefix(short, "refs/remotes/")} {
		if path.Base(ref) == "HEAD" || !validRef(ref) {
			return ""
		}
		if _, err := r.refs.Resolve(r.CommonDir, ref); err == nil {
			return ref
		}
	}
	return ""
}

// published says whether a branch stands, or ever stood, at a commit that was made in the worktree, or may have.
func (r *Repository) published(w *Worktree, ref string) bool {
	at, err := r.refs.Resolve(r.CommonDir, ref)
	if err != nil || w.made[at] {
		return true
	}
	log, err := readReflog(filepath.Join(r.CommonDir, "logs", ref))
	return err != nil && !gone(err) || slices.ContainsFunc(log.entries, func(e entry) bool { return w.made[e.old] || w.made[e.new] })
}

// stack gives the commits at which a worktree's branch may have been made from another one that is not the upstream.
func (r *Repository) stack(w *Worktree) map[string]bool {
	oids := map[string]bool{}
	from, ok := strings.CutPrefix(w.created.message, "branch: Created from ")
	ref := "refs/heads/" + strings.TrimPrefix(from, "refs/heads/")
	if !ok || from == "HEAD" || !validRef(ref) || ref == w.Branch {
		return oids
	}
	log, _ := readReflog(filepath.Join(r.CommonDir, "logs", ref)) // what is missing there proves nothing
	for _, e := range append(log.entries, w.created) {
		oids[e.new] = true
	}
	return oids
}
