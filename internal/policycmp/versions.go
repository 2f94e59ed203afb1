package policycmp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/git/revision"
	"github.com/winnow-reaper/winnow/policies"
)

// ConfiguredTrees is the name of the policies that the configuration names.
const ConfiguredTrees = "configured"

// Version is one version of the policies, as a person names it.
type Version struct {
	name string
	// commit is what a revision stands for, "" for all else.
	commit string
	trees  []policy.Tree
}

// versionHint is what to do about a name that stands for nothing.
const versionHint = "name a folder (./policies), a revision (main, HEAD~1, main:policies), embedded or configured. Nothing was decided"

// versionOf finds what a name stands for: the word embedded or configured, a folder or a bundle, or a revision of the repository, with a path
// behind a colon or without. The embedded policies stand below it, unless they are left out or it is a copy of them as a whole.
func (d *Difference) versionOf(ctx context.Context, name string) (Version, error) {
	out := Version{name: name}
	var tree policy.Tree
	var err error
	switch name {
	case ConfiguredTrees:
		configured, err := d.Configured(ctx)
		out.trees = configured.Trees
		return out, err
	case ruleset.EmbeddedName:
		out.trees = []policy.Tree{{Name: ruleset.EmbeddedName, FS: policies.Files}}
		return out, nil
	}
	if err := d.ambiguous(ctx, name); err != nil {
		return out, err
	}
	if _, missing := os.Lstat(name); missing == nil || explicit(name) {
		tree, err = ruleset.Tree(ctx, name)
	} else {
		tree, out.commit, err = d.revision(ctx, name)
	}
	if err != nil {
		return out, config.Usagef("%w", err)
	}
	// The tree stands on top of the embedded policies and below those that --policy names.
	if d.Cfg.Policy.Embedded && !replaces(tree) {
		out.trees = append(out.trees, policy.Tree{Name: ruleset.EmbeddedName, FS: policies.Files})
	}
	out.trees = append(out.trees, tree)
	for _, p := range d.PolicyPaths {
		path, err := config.Path(p)
		if err != nil {
			return out, config.Usagef("--policy: %w", err)
		}
		more, err := ruleset.Tree(ctx, path)
		if err != nil {
			return out, config.Usagef("--policy: %w", err)
		}
		out.trees = append(out.trees, more)
	}
	return out, nil
}

// replaces reports whether a tree is whole by itself, as the copy that winnow init writes: it says itself what the verdict is, so that it stands
// in the place of the embedded policies.
func replaces(t policy.Tree) bool {
	entries, err := fs.ReadDir(t.FS, "main")
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return strings.HasSuffix(e.Name(), ".rego") && !strings.HasSuffix(e.Name(), "_test.rego")
	})
}

// explicit reports whether a name begins as a path does.
func explicit(name string) bool {
	return name == "." || name == ".." || slices.ContainsFunc([]string{"/", "./", "../"}, func(p string) bool { return strings.HasPrefix(name, p) })
}

// revision reads REV:PATH, or REV with the path of --path.
func (d *Difference) revision(ctx context.Context, name string) (policy.Tree, string, error) {
	rev, dir, named := strings.Cut(name, ":")
	if !named {
		dir = d.Options.Path
	}
	r, err := d.find(ctx, rev)
	if err != nil {
		if _, e := os.Lstat(name); errors.Is(e, fs.ErrNotExist) && errors.Is(err, git.ErrNone) {
			return policy.Tree{}, "", fmt.Errorf("%s is no folder, and no revision either: %w; %s", name, err, versionHint)
		}
		return policy.Tree{}, "", fmt.Errorf("%w; %s", err, versionHint)
	}
	tree, err := ruleset.RevisionTree(ctx, r, name, dir)
	switch {
	case errors.Is(err, revision.ErrNoPath) && !named:
		return policy.Tree{}, "", fmt.Errorf("%w: say where its policies are, as in %s:FOLDER or with --path FOLDER. Nothing was decided", err, rev)
	case err != nil:
		return policy.Tree{}, "", fmt.Errorf("%w. Nothing was decided", err)
	}
	return tree, r.Commit, nil
}

func (d *Difference) find(ctx context.Context, rev string) (*revision.Revision, error) {
	return revision.Find(ctx, git.NewFinder(), git.Program{}, d.Options.Repo, rev)
}

// configOf reads a configuration for one version: a file, or one in a revision (REV:PATH); "" is the one that is in force.
func (d *Difference) configOf(ctx context.Context, flag, name string) (*config.Config, error) {
	if name != "" {
		if err := d.ambiguous(ctx, name); err != nil {
			return nil, err
		}
	}
	rev, file, inRevision := strings.Cut(name, ":")
	if _, err := os.Lstat(name); err == nil || name == "" || !inRevision {
		c, err := config.Load(cmp.Or(name, d.ConfigFile), os.Environ())
		if err != nil && name != "" {
			return nil, config.Usagef("%s: %w", flag, err)
		}
		return c, err
	}
	r, err := d.find(ctx, rev)
	if err != nil {
		return nil, config.Usagef("%s: %w; give a file, or REVISION:FILE. Nothing was decided", flag, err)
	}
	data, err := r.File(ctx, file, config.MaxFile)
	if err != nil {
		return nil, config.Usagef("%s: %w; give a file, or REVISION:FILE. Nothing was decided", flag, err)
	}
	return config.Parse(name, data, os.Environ())
}

// ambiguous refuses a name that is a file or folder and a revision: who changes the files could else choose what is compared.
func (d *Difference) ambiguous(ctx context.Context, name string) error {
	if explicit(name) {
		return nil
	}
	if _, err := os.Lstat(name); err != nil {
		return nil
	}
	rev, _, _ := strings.Cut(name, ":")
	if _, err := d.find(ctx, rev); err != nil {
		return nil
	}
	return config.Usagef("%s is there as a file or folder, and %s is a revision: write ./%s, or refs/heads/%s:PATH for a branch. Nothing was decided", name, rev, name, rev)
}

// watchInterval is how often folders are looked at. Two looks must agree before files are read: an editor saves in several steps.
const watchInterval = 100 * time.Millisecond

// Watch compares again after every save below a folder that is a version, until ctx ends, and has each new result shown. It looks at names, sizes
// and times, since file systems of other machines and of containers do not report saves.
func (d *Difference) Watch(ctx context.Context, show func(*document.Comparison, error) error) error {
	folders := slices.DeleteFunc(slices.Clone(d.Names[:]), func(name string) bool {
		st, err := os.Stat(name)
		return err != nil || !st.IsDir()
	})
	if len(folders) == 0 {
		return config.Usagef("--watch: neither %s nor %s is a folder, so nothing can be saved there. Nothing was decided", d.Names[0], d.Names[1])
	}
	shown, compared, before := "", "", ""
	for tick := time.Tick(watchInterval); ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-tick:
		}
		now := listing(folders)
		if now == compared || now != before {
			before = now
			continue
		}
		compared = now
		doc, err := d.Compare(ctx)
		result := fmt.Sprint(err)
		if err == nil {
			result = doc.Base.Policy.Digest + doc.Head.Policy.Digest
		}
		if ctx.Err() != nil || result == shown { // such as a file that was only touched
			continue
		}
		shown = result
		if err := show(doc, err); err != nil {
			return err
		}
	}
	return nil
}

// listing is the names, sizes and times of all that is in folders, but for folders whose name begins with a dot, which
// hold no policies. What cannot be read is listed as its error: comparing says what is wrong.
func listing(folders []string) string {
	var out strings.Builder
	for _, folder := range folders {
		_ = filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
			if name != folder && e.IsDir() && strings.HasPrefix(e.Name(), ".") {
				return fs.SkipDir
			}
			st, missing := os.Lstat(name)
			if fmt.Fprintln(&out, name, err, missing); missing == nil {
				fmt.Fprintln(&out, st.Size(), st.ModTime().UnixNano())
			}
			return nil
		})
	}
	return out.String()
}
