package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
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
	Revision     string         `json:"revision"`
	Roots        []string       `json:"roots"`
	RegoVersion  *int           `json:"rego_version"`
	FileVersions map[string]int `json:"file_rego_versions"`
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

// readTree reads a tree's policies, as long as there is room left. Tests and folders whose name begins with a dot are passed over, and
// so is every other file. A link is refused where it may be meant for policies: nothing below it would be loaded, without a word.
func readTree(ctx context.Context, t Tree, left *budget) (*read, Refusals) {
	r := &read{tree: t, manifest: manifest{Roots: []string{root}}}
	err := fs.WalkDir(t.FS, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if left.entries--; left.entries < 0 {
			return fmt.Errorf("%s: %d files and folders are the most", p, MaxPolicyEntries)
		}
		hidden := p != "." && strings.HasPrefix(d.Name(), ".")
		if d.IsDir() {
			if hidden {
				return fs.SkipDir
			}
			if strings.Count(p, "/") >= maxDepth {
				return fmt.Errorf("%s: folders are nested deeper than %d", p, maxDepth)
			}
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 && !hidden && path.Ext(p) == "" {
			return fmt.Errorf("%s: it is a symbolic link, and what it leads to would not be loaded: put the folder itself here", p)
		}
		if p != manifestName && (!strings.HasSuffix(p, ".rego") || strings.HasSuffix(p, "_test.rego")) {
			return nil
		}
		return r.readFile(p, left)
	})
	var refused Refusals
	if err != nil {
		refused = append(refused, Refusal{File: t.place(), Problem: fmt.Sprintf("read policies: %v", err), Fix: "correct that, or name another folder"})
	}
	refused = append(refused, r.readManifest()...)
	if err == nil && len(r.policies()) == 0 {
		refused = append(refused, Refusal{File: t.place(), Problem: "no policies in it", Fix: "name a folder that holds .rego files, or leave it out"})
	}
	return r, refused
}

func (r *read) readFile(p string, left *budget) error {
	data, err := fs.ReadFile(r.tree.FS, p)
	if err != nil {
		return err
	}
	most := MaxPolicyFile
	if p == manifestName {
		most = maxManifest
	}
	left.files--
	left.bytes -= len(data)
	switch {
	case len(data) > most:
		return fmt.Errorf("%s: %d bytes, and %d are the most", p, len(data), most)
	case left.files < 0:
		return fmt.Errorf("%s: %d files are the most", p, maxFiles)
	case left.bytes < 0:
		return fmt.Errorf("%s: %d bytes in all are the most", p, maxBytes)
	}
	r.files = append(r.files, File{Tree: r.tree.Name, Path: p, Name: path.Join(r.tree.Prefix, p), data: data})
	return nil
}

// readManifest reads OPA's own file. Keys that are not known are passed over, as OPA does; a version of Rego other than the one that
// policies are read as is refused, and so is a revision that no report could print.
func (r *read) readManifest() Refusals {
	i := slices.IndexFunc(r.files, func(f File) bool { return f.Path == manifestName })
	if i < 0 {
		return nil
	}
	m := manifest{}
	refuse := func(problem string) Refusals {
		return Refusals{{File: r.files[i].Name, Problem: "read manifest: " + problem, Fix: `write {"revision": "...", "roots": ["policies"]}`}}
	}
	if err := json.Unmarshal(r.files[i].data, &m); err != nil {
		return refuse(err.Error())
	}
	if m.RegoVersion != nil && *m.RegoVersion != 1 {
		return refuse(fmt.Sprintf("rego_version %d; policies are read as version 1", *m.RegoVersion))
	}
	for file, v := range m.FileVersions {
		if v != 1 {
			return refuse(fmt.Sprintf("rego_version %d of %.100q; policies are read as version 1", v, file))
		}
	}
	if len(m.Revision) > maxRevision || strings.ContainsFunc(m.Revision, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return refuse(fmt.Sprintf("a revision that is longer than %d bytes, or cannot be printed", maxRevision))
	}
	if len(m.Roots) > maxRoots {
		return refuse(fmt.Sprintf("%d roots, and %d are the most", len(m.Roots), maxRoots))
	}
	if len(m.Roots) == 0 {
		m.Roots = []string{root}
	}
	r.manifest = m
	return nil
}

const (
	maxRevision = 256
	maxRoots    = 100
)

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

// wireTree is a tree that was read, on its way to a process that builds a policy of it. What its files hold follows, as it is.
type wireTree struct {
	Name   string     `json:"name"`
	Prefix string     `json:"prefix"`
	Files  []wireFile `json:"files"`
}

type wireFile struct {
	Path string `json:"path"`
	Name string `json:"name"`
	Size int    `json:"size"`
}

// MarshalJSON writes which files were read, and how many bytes each of them has.
func (s *Sources) MarshalJSON() ([]byte, error) {
	var out []wireTree
	for _, t := range s.trees {
		w := wireTree{Name: t.tree.Name, Prefix: t.tree.Prefix}
		for _, f := range t.files {
			w.Files = append(w.Files, wireFile{Path: f.Path, Name: f.Name, Size: len(f.data)})
		}
		out = append(out, w)
	}
	return json.Marshal(out)
}

// UnmarshalJSON makes room for the files that were read somewhere else.
func (s *Sources) UnmarshalJSON(data []byte) error {
	var ws []wireTree
	if err := json.Unmarshal(data, &ws); err != nil {
		return err
	}
	*s = Sources{}
	for _, w := range ws {
		r := &read{tree: Tree{Name: w.Name, Prefix: w.Prefix}, manifest: manifest{Roots: []string{root}}}
		for _, f := range w.Files {
			r.files = append(r.files, File{Tree: w.Name, Path: f.Path, Name: f.Name, data: make([]byte, f.Size)})
		}
		s.trees = append(s.trees, r)
	}
	return nil
}

// Send writes what the files hold, one after the other.
func (s *Sources) Send(to io.Writer) error {
	for _, t := range s.trees {
		for _, f := range t.files {
			if _, err := to.Write(f.data); err != nil {
				return err
			}
		}
	}
	return nil
}

// Receive reads what Send wrote into the files that there is room for, and then their manifests.
func (s *Sources) Receive(from io.Reader) error {
	for _, t := range s.trees {
		for _, f := range t.files {
			if _, err := io.ReadFull(from, f.data); err != nil {
				return err
			}
		}
		s.refused = append(s.refused, t.readManifest()...)
	}
	return nil
}
