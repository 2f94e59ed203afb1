package act

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/internal/git"
)

// scanLimit bounds how much of an admin folder is read for commits.
const scanLimit = 64 << 20

// object matches the name of an object wherever it stands in a text.
var object = regexp.MustCompile(`\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b`)

// Keep makes a ref below prefix for HEAD and one for each commit that only this worktree's own bookkeeping reaches: its reflog, a rebase or
// merge under way, its own refs. The reflog goes with the admin folder, and git gc would then take the commits. Content that is
// staged and in no commit gets a ref to a tree of it for the same reason. It gives the refs by name.
func (r Repo) Keep(ctx context.Context, prefix, head string) (map[string]string, error) {
	refs := map[string]string{prefix + "head": head}
	tips, err := r.ownTips(ctx, head)
	if err != nil {
		return nil, err
	}
	for _, c := range tips {
		refs[prefix+"commit/"+c] = c
	}
	tree, err := r.staged(ctx)
	if err != nil {
		return nil, err
	}
	if tree != "" {
		refs[prefix+"staged"] = tree
	}
	var in strings.Builder
	for name, id := range refs {
		fmt.Fprintf(&in, "create %s %s\n", name, id) // create fails when the ref is there: nothing is overwritten
	}
	if _, err := r.run(ctx, in.String(), "update-ref", "--stdin"); err != nil {
		return nil, err
	}
	return refs, nil
}

// ownTips are the commits that the admin folder names and HEAD does not reach, without those that another of them reaches. That a
// branch reaches one today does not count: branches are removed, and the reflog here would have kept it. What was only fetched is
// the repository's: of that, what no branch, tag, remote branch or stash reaches.
func (r Repo) ownTips(ctx context.Context, head string) ([]string, error) {
	named, fetched, err := namedObjects(r.Admin)
	if err != nil {
		return nil, err
	}
	own, err := r.tips(ctx, append(named, "^"+head))
	if err != nil || len(fetched) == 0 {
		return own, err
	}
	more, err := r.tips(ctx, append(fetched, "^"+head), "--not", "--branches", "--tags", "--remotes", "--glob=refs/stas[h]")
	if err != nil {
		return nil, err
	}
	own = append(own, more...)
	slices.Sort(own)
	return slices.Compact(own), nil
}

// tips lists the commits among revisions that no other commit among them reaches. What is gone from the repository already cannot be
// kept; --ignore-missing passes over it. Trees and blobs are not listed.
func (r Repo) tips(ctx context.Context, revisions []string, but ...string) ([]string, error) {
	args := append([]string{"rev-list", "--ignore-missing", "--parents", "--stdin"}, but...)
	out, err := r.run(ctx, strings.Join(revisions, "\n")+"\n", args...)
	if err != nil {
		return nil, err
	}
	listed, inner := []string{}, map[string]bool{}
	for line := range strings.Lines(out) {
		ids := strings.Fields(line)
		listed = append(listed, ids[0])
		for _, parent := range ids[1:] {
			inner[parent] = true
		}
	}
	return slices.DeleteFunc(listed, func(c string) bool { return inner[c] }), nil
}

// namedObjects lists the object names in the files of an admin folder, and apart from them those that a fetch left there. Its index is
// binary, and submodules have stores of their own; both move with it.
func namedObjects(admin string) (own, fetched []string, err error) {
	found, fetch := map[string]bool{}, map[string]bool{}
	left := int64(scanLimit)
	err = filepath.WalkDir(admin, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && e.Name() == "modules" && filepath.Dir(path) == admin {
			return fs.SkipDir
		}
		if !e.Type().IsRegular() || e.Name() == "index" {
			return nil
		}
		st, err := e.Info()
		if err != nil {
			return err
		}
		if left -= st.Size(); left < 0 {
			return errors.New("it is too large to be searched for commits")
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		into := found
		if path == filepath.Join(admin, "FETCH_HEAD") {
			into = fetch
		}
		for _, id := range object.FindAll(text, -1) {
			if !git.IsZero(string(id)) {
				into[string(id)] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("look for commits in %s: %w", admin, err)
	}
	return slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(fetch)), nil
}

// staged makes a tree of everything that the index holds and HEAD does not, conflicting versions too, and gives its name, or
// "" when nothing is staged. The index itself is not changed.
func (r Repo) staged(ctx context.Context) (string, error) {
	blobs, err := r.stagedContent(ctx)
	if err != nil || len(blobs) == 0 {
		return "", err
	}
	var in strings.Builder
	for _, id := range blobs {
		fmt.Fprintf(&in, "100644 blob %s\t%s\x00", id, id)
	}
	out, err := r.run(ctx, in.String(), "mktree", "-z", "--missing")
	return strings.TrimSpace(out), err
}

// stagedContent lists what the index holds and HEAD does not, conflicting versions too.
func (r Repo) stagedContent(ctx context.Context) ([]string, error) {
	diff, err := r.run(ctx, "", "diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff", "--ignore-submodules=all", "HEAD")
	if err != nil {
		return nil, err
	}
	unmerged, err := r.run(ctx, "", "ls-files", "--unmerged", "-z")
	if err != nil {
		return nil, err
	}
	blobs := append(diffBlobs(diff), stagedBlobs(unmerged)...)
	slices.Sort(blobs)
	return slices.Compact(blobs), nil
}

const gitlink = "160000"

// namesObject says whether a word is the name of an object, and not the zeros that stand for none.
func namesObject(id string) bool { return git.IsOID(id) && !git.IsZero(id) }

// stagedBlobs reads ls-files --unmerged -z: mode, object, stage, tab, path.
func stagedBlobs(text string) []string {
	var ids []string
	for entry := range strings.SplitSeq(text, "\x00") {
		f := strings.Fields(entry)
		if len(f) >= 3 && f[0] != gitlink && namesObject(f[1]) {
			ids = append(ids, f[1])
		}
	}
	return ids
}

// diffBlobs reads diff-index --raw -z: each ":old-mode new-mode old new status" is followed by a path.
func diffBlobs(text string) []string {
	var ids []string
	parts := strings.Split(text, "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		f := strings.Fields(strings.TrimPrefix(parts[i], ":"))
		if len(f) == 5 && f[1] != gitlink && namesObject(f[3]) {
			ids = append(ids, f[3])
		}
	}
	return ids
}

// Drop removes the refs below prefix, as far as there are any.
func (r Repo) Drop(ctx context.Context, prefix string) error {
	out, err := r.run(ctx, "", "for-each-ref", "--format=delete %(refname) %(objectname)", prefix)
	if err != nil {
		return fmt.Errorf("list the refs below %s: %w", prefix, err)
	}
	if out == "" {
		return nil
	}
	if _, err := r.run(ctx, out, "update-ref", "--stdin"); err != nil {
		return fmt.Errorf("remove the refs below %s: %w", prefix, err)
	}
	return nil
}

// Whole makes sure that nothing is missing of what a worktree's commit and index lead to. Of the commit it looks at what no
// branch, tag or remote branch but the worktree's own one leads to: the rest is not this worktree's alone.
func (r Repo) Whole(ctx context.Context, head, branch string) error {
	args := []string{"rev-list", "--objects", "--quiet", head, "--not"}
	if name := strings.TrimPrefix(branch, "refs/heads/"); name != "" {
		args = append(args, "--exclude="+name) // git allows no *, ?, [ or backslash in it
	}
	if _, err := r.run(ctx, "", append(args, "--branches", "--tags", "--remotes")...); err != nil {
		return fmt.Errorf("look for all that its commit leads to: %w", err)
	}
	blobs, err := r.stagedContent(ctx)
	if err != nil {
		return fmt.Errorf("read its index: %w", err)
	}
	if len(blobs) == 0 {
		return nil
	}
	out, err := r.run(ctx, strings.Join(blobs, "\n")+"\n", "cat-file", "--batch-check=%(objectname) %(objecttype)")
	if err != nil {
		return fmt.Errorf("look for what its index holds: %w", err)
	}
	for line := range strings.Lines(out) {
		if id, what, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); what == "missing" {
			return fmt.Errorf("look for what its index holds: %s is no longer in the repository", id)
		}
	}
	return nil
}
