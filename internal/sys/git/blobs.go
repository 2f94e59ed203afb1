package git

import (
	"context"
	"crypto/sha1" //nolint:gosec // it is git's own name for a content, not a proof against forgery
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// UpstreamBlobs gives the names of the blobs that the upstream's tree has at these paths; a path at which it has none, or anything else, is
// left out. One run of git, and none without an upstream.
func (r *Repository) UpstreamBlobs(ctx context.Context, git Program, paths []string) (map[string]string, error) {
	return r.lsTree(ctx, git, r.upstream, paths, func(mode string) bool { return strings.HasPrefix(mode, "100") }) // a link's blob is where it leads
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
	var h hash.Hash = sha1.New()
	if r.format.SHA256 {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}
