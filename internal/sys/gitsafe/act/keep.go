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

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// scanLimit bounds how much of an admin folder is read for commits.
const scanLimit = 64 << 20

// object matches the name of an object wherever it stands in a text.
var object = regexp.MustCompile(`\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b`)

// Keep makes a ref below prefix for HEAD and one for each object that only this worktree's own bookkeeping reaches: its reflog, a rebase or
// merge under way, its own refs, which may name tags, trees and blobs too. They go with the admin folder, and git gc would then take
// the objects. Content that only the index holds gets a ref to a tree of it for the same reason. It gives the refs by name.
func (r Repo) Keep(ctx context.Context, prefix, head string) (map[string]string, error) {
	refs := map[string]string{prefix + "head": head}
	named, fetched, err := namedObjects(r.Admin)
	if err != nil {
		return nil, err
	}
	tips, err := r.ownTips(ctx, head, named, fetched)
	if err != nil {
		return nil, err
	}
	for _, c := range tips {
		refs[prefix+"commit/"+c] = c
	}
	others, err := r.ownObjects(ctx, named, fetched)
	if err != nil {
		return nil, err
	}
	for _, o := range others {
		refs[prefix+"object/"+o] = o
	}
	tree, err := r.staged(ctx, head)
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
func (r Repo) ownTips(ctx context.Context, head string, named, fetched []string) ([]string, error) {
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

// ownObjects are the tags, trees and blobs that the admin folder names. Of what was only fetched it is those that no ref names.
func (r Repo) ownObjects(ctx context.Context, named, fetched []string) ([]string, error) {
	there, err := r.types(ctx, slices.Concat(named, fetched))
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(there, func(_, what string) bool { return what == "commit" || what == missing })
	fetched = slices.DeleteFunc(fetched, func(id string) bool { return there[id] == "" || slices.Contains(named, id) })
	if len(fetched) > 0 {
		refs, err := r.run(ctx, "", "for-each-ref", "--format=%(objectname)")
		if err != nil {
			return nil, err
		}
		for _, id := range strings.Fields(refs) {
			if slices.Contains(fetched, id) {
				delete(there, id)
			}
		}
	}
	return slices.Sorted(maps.Keys(there)), nil
}

// missing is the type of an object that is no longer in the repository.
const missing = "missing"

// types gives the type of each object, as git calls it.
func (r Repo) types(ctx context.Context, ids []string) (map[string]string, error) {
	types := map[string]string{}
	if len(ids) == 0 {
		return types, nil
	}
	out, err := r.run(ctx, strings.Join(ids, "\n")+"\n", "cat-file", "--batch-check=%(objectname) %(objecttype)")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		id, what, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || !gitsafe.IsOID(id) {
			return nil, fmt.Errorf("git cat-file does not say what %q is", line)
		}
		types[id] = what
	}
	return types, nil
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
			if !gitsafe.IsZero(string(id)) {
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

// staged makes a tree of everything that the index holds and HEAD does not: staged files, conflicting versions, also those that were
// resolved, and trees that git made of it. It gives the tree's name, or "" when nothing is staged. The index itself is not changed.
func (r Repo) staged(ctx context.Context, head string) (string, error) {
	out, err := r.run(ctx, "", "rev-list", "--objects", "--no-object-names", "--missing=print", "--single-worktree", indexed, "^"+head+"^{tree}")
	if err != nil {
		return "", err
	}
	// What is marked as gone from the repository already cannot be kept.
	ids := slices.DeleteFunc(strings.Fields(out), func(id string) bool { return !gitsafe.IsOID(id) })
	types, err := r.types(ctx, ids)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	var in strings.Builder
	for _, id := range ids {
		mode := "100644"
		if types[id] == "tree" {
			mode = "040000"
		}
		fmt.Fprintf(&in, "%s %s %s\t%s\x00", mode, types[id], id, id)
	}
	out, err = r.run(ctx, in.String(), "mktree", "-z")
	return strings.TrimSpace(out), err
}

// ListKept lists what the refs below prefix name.
func (r Repo) ListKept(ctx context.Context, prefix string) ([]string, error) {
	out, err := r.run(ctx, "", "for-each-ref", "--format=%(objectname)", prefix)
	if err != nil {
		return nil, fmt.Errorf("list the refs below %s: %w", prefix, err)
	}
	return strings.Fields(out), nil
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

// VerifyObjects makes sure that nothing is missing of what a worktree's commit and the objects that were kept for it lead to. It looks at what no
// branch, tag or remote branch but the worktree's own one leads to: the rest is not this worktree's alone.
func (r Repo) VerifyObjects(ctx context.Context, head, branch string, kept []string) error {
	types, err := r.types(ctx, kept)
	if err != nil {
		return fmt.Errorf("look for what was kept: %w", err)
	}
	maps.DeleteFunc(types, func(_, what string) bool { return what != missing })
	if lost := slices.Sorted(maps.Keys(types)); len(lost) > 0 {
		return fmt.Errorf("no longer in the repository, and needed by its index or its own refs: %s", strings.Join(lost, ", "))
	}
	args := []string{"rev-list", "--objects", "--quiet", "--stdin", "--not"}
	if name := strings.TrimPrefix(branch, "refs/heads/"); name != "" {
		args = append(args, "--exclude="+name) // git allows no *, ?, [ or backslash in it
	}
	if _, err := r.run(ctx, strings.Join(append(kept, head), "\n")+"\n", append(args, "--branches", "--tags", "--remotes")...); err != nil {
		return fmt.Errorf("look for all that its commit, its index and its own refs lead to: %w", err)
	}
	return nil
}
