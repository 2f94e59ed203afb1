package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// The one root that policies live under, and the name of the file that says which version a tree is.
const (
	root         = "policies"
	manifestName = ".manifest"
)

// Tree is one folder of policies. A file's folder in FS is its package below policies: reap/dirs/landed/landed.rego has the
// package policies.reap.dirs.landed.
type Tree struct {
	// Name is what a person calls the tree.
	Name string
	FS   fs.FS
	// Prefix stands before a file's path in messages, such as the folder that FS was opened on.
	Prefix string
}

// File is a file that was loaded.
type File struct {
	Tree string `json:"tree"`
	// Path is the path in its tree, Name the path with the tree's prefix.
	Path string `json:"path"`
	Name string `json:"name"`
	data []byte
}

// manifest is OPA's own file beside a bundle's policies.
type manifest struct {
	Revision string   `json:"revision"`
	Roots    []string `json:"roots"`
}

// read is a tree that was read: its policies without their tests, and its manifest.
type read struct {
	tree     Tree
	files    []File // .rego and the manifest, by path
	manifest manifest
}

func (r *read) policies() []File {
	return slices.DeleteFunc(slices.Clone(r.files), func(f File) bool { return f.Path == manifestName })
}

// readTree reads a tree's policies. Tests and folders whose name begins with a dot are passed over, and so is every other file.
func readTree(t Tree) (*read, Refusals) {
	r := &read{tree: t, manifest: manifest{Roots: []string{root}}}
	var refused Refusals
	err := fs.WalkDir(t.FS, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != "." && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		if p != manifestName && (!strings.HasSuffix(p, ".rego") || strings.HasSuffix(p, "_test.rego")) {
			return nil
		}
		data, err := fs.ReadFile(t.FS, p)
		if err != nil {
			return err
		}
		r.files = append(r.files, File{Tree: t.Name, Path: p, Name: path.Join(t.Prefix, p), data: data})
		return nil
	})
	if err != nil {
		refused = append(refused, Refusal{File: t.place(), Problem: fmt.Sprintf("read policies: %v", err), Fix: "make the folder readable, or name another one"})
	}
	refused = append(refused, r.readManifest()...)
	if err == nil && len(r.policies()) == 0 {
		refused = append(refused, Refusal{File: t.place(), Problem: "no policies in it", Fix: "name a folder that holds .rego files, or leave it out"})
	}
	return r, refused
}

func (r *read) readManifest() Refusals {
	i := slices.IndexFunc(r.files, func(f File) bool { return f.Path == manifestName })
	if i < 0 {
		return nil
	}
	var m manifest
	if err := json.Unmarshal(r.files[i].data, &m); err != nil {
		return Refusals{{File: r.files[i].Name, Problem: fmt.Sprintf("read manifest: %v", err), Fix: `write {"revision": "...", "roots": ["policies"]}`}}
	}
	if len(m.Roots) == 0 {
		m.Roots = []string{root}
	}
	r.manifest = m
	return nil
}

func (t Tree) place() string {
	if t.Prefix != "" {
		return t.Prefix
	}
	return t.Name
}

// digest covers the paths and bytes of everything that was loaded, sorted by tree order and path, each with its length before
// it, so that no two sets of files give the same input.
func digest(trees []*read) string {
	h := sha256.New()
	for i, t := range trees {
		files := slices.SortedFunc(slices.Values(t.files), func(a, b File) int { return strings.Compare(a.Path, b.Path) })
		for _, f := range files {
			fmt.Fprintf(h, "%d %d:%s %d:", i, len(f.Path), f.Path, len(f.data))
			h.Write(f.data)
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// revision joins the revisions of the trees that have one.
func revision(trees []*read) string {
	var all []string
	for _, t := range trees {
		if t.manifest.Revision != "" {
			all = append(all, t.manifest.Revision)
		}
	}
	return strings.Join(all, "+")
}
