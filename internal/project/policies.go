package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/winnow-reaper/winnow/internal/sys/foreign"
)

// Policies is the folder beside the file in which a repository's own policies lie.
const Policies = "policies"

// The bounds of a repository's policies: files, entries of a folder, bytes of all files together.
const (
	maxPolicyFiles   = 100
	maxPolicyEntries = 1000
	maxPolicies      = 256 << 10
)

// PolicyFile is a file of a repository's policies, by its path below their folder.
type PolicyFile struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// PoliciesFolder is where the policies of a main checkout lie.
func PoliciesFolder(main string) string { return filepath.Join(main, Folder, Policies) }

// ReadPolicies reads the policies of the main checkout whose real path is main, by the rules of files that rule: no link leads to or in them. Tests,
// hidden files and folders, and what is neither Rego nor data are left out. A folder that is not there has none.
func ReadPolicies(ctx context.Context, main string) ([]PolicyFile, error) {
	at := PoliciesFolder(main)
	real, err := foreign.Folder(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case real != at:
		return nil, &fs.PathError{Op: "read", Path: at, Err: foreign.ErrLink}
	}
	ctx, done := context.WithTimeout(ctx, within)
	defer done()
	files := foreign.DirFS{Dir: real, Want: foreign.Want{Max: maxPolicies, Within: within, Ruling: true}, Context: ctx, MaxEntries: maxPolicyEntries}
	var out []PolicyFile
	left := maxPolicies
	err = fs.WalkDir(files, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case p != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() && strings.Count(p, "/") > 8:
			return fmt.Errorf("%s: folders are nested too deep", p)
		case d.IsDir(), strings.HasSuffix(p, "_test.rego"), !slices.Contains([]string{".rego", ".yaml", ".yml", ".json"}, path.Ext(p)):
			return nil
		}
		data, err := files.ReadFile(p)
		if err != nil {
			return err
		}
		if left -= len(data); left < 0 || len(out) == maxPolicyFiles {
			return fmt.Errorf("%s: a repository's policies have at most %d files with %d bytes", filepath.Join(at, p), maxPolicyFiles, maxPolicies)
		}
		out = append(out, PolicyFile{p, string(data)})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// PoliciesDigest names policies by the paths and texts of their files, in hexadecimal digits; "" where there are none.
func PoliciesDigest(files []PolicyFile) string {
	if len(files) == 0 {
		return ""
	}
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%d:%s %d:%s", len(f.Path), f.Path, len(f.Text), f.Text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// PoliciesFS are policies as a file system.
func PoliciesFS(files []PolicyFile) fs.FS {
	out := fstest.MapFS{}
	for _, f := range files {
		out[f.Path] = &fstest.MapFile{Data: []byte(f.Text)}
	}
	return out
}
