package git

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // it is git's own name for a content, not a proof against forgery
	"crypto/sha256"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/git/landing"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// UpstreamBlobs gives the names of the blobs that the upstream's tree has at these paths; a path at which it has none, or anything else, is
// left out. One run of git, and none without an upstream.
func (r *Repository) UpstreamBlobs(ctx context.Context, git Program, paths []string) (map[string]string, error) {
	return r.lsTree(ctx, git, r.upstream, paths, func(mode string) bool { return strings.HasPrefix(mode, "100") }) // a link's blob is where it leads
}

// Unlanded gives the files below a folder that the upstream's tree does not have, nor had in any of its last commits, by their paths there. leave
// says what of the files, and of the folders that git ignores there, is left out. latest is when one of them, or a folder, was last written.
func (r *Repository) Unlanded(ctx context.Context, git Program, tree string, leave func(rel string, folder bool) bool) (paths []string, latest time.Time, err error) {
	sealed, err := r.seal(ctx, git, gitsafe.View{Tree: tree})
	if err != nil {
		return nil, latest, err
	}
	defer func() { _ = sealed.Close() }()
	ignored, err := landing.Ignored(ctx, sealed)
	if err != nil {
		return nil, latest, err
	}
	files, latest, err := landing.Files(ctx, tree, r.hash, func(rel string, folder bool) bool {
		return (!folder || ignored[rel+"/"]) && leave(rel, folder)
	})
	if err == nil && r.upstream != "" {
		err = landing.DropLanded(ctx, sealed, r.upstream, files)
	}
	return slices.Sorted(maps.Keys(files)), latest, err
}

// lsTree gives the objects of such modes that a commit's tree has at these paths.
func (r *Repository) lsTree(
	ctx context.Context, git Program, commit string, paths []string, wanted func(mode string) bool,
) (objects map[string]string, err error) {
	if commit == "" || len(paths) == 0 {
		return nil, nil
	}
	defer func() {
		if err != nil {
			objects, err = nil, fmt.Errorf("look into the tree of %s: %w", commit, err)
		}
	}()
	sealed, err := r.seal(ctx, git, gitsafe.View{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = sealed.Close() }()
	objects = map[string]string{}
	args := append([]string{"--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--"}, paths...)
	_, err = sealed.Run(ctx, gitsafe.Call{Args: args}, func(record []byte) error {
		about, path, ok := strings.Cut(string(record), "\t")
		fields := strings.Fields(about) // mode, type, name
		if !ok || len(fields) != 3 || !gitsafe.IsOID(fields[2]) {
			return gitsafe.ErrAnswer
		}
		if wanted(fields[0]) {
			objects[path] = fields[2]
		}
		return nil
	})
	return objects, err
}

// Blob is the name that the repository gives to a content.
func (r *Repository) Blob(content []byte) string {
	return landing.Blob(r.hash(), bytes.NewReader(content), int64(len(content)))
}

// hash is how the repository names what it holds.
func (r *Repository) hash() hash.Hash {
	if r.format.SHA256 {
		return sha256.New()
	}
	return sha1.New() //nolint:gosec // it is git's own name for a content, not a proof against forgery
}
