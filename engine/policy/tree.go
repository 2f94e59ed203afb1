package policy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/snapshot"
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
	// Beside is true for a tree that the tests of others may lean on, and that is not tested itself: see Sources.Suite.
	Beside bool
	// Only is the one file of FS that is read, by its name in the topmost folder; "" for all.
	Only string
	// Bundled is true for the files of a bundle, which may say of each exception the line that it had before.
	Bundled bool
	// Published is true for a bundle that the configuration names: it is an organisation's, and stands above the trees of the user.
	Published bool
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
	// Metadata is for others but for what is under winnow.
	Metadata map[string]json.RawMessage `json:"metadata"`
}

// read is a tree that was read: its policies without their tests, and its manifest.
type read struct {
	tree     Tree
	files    []File // .rego, the manifest, layer.yaml and the exceptions, by path
	manifest manifest
	// tests, data and cases are read only where LoadOptions says so; passed are the files and folders that are not read.
	tests, data, cases []File
	passed             []string
	exceptions         []snapshot.Keep
}

func (r *read) policies() []File {
	return slices.DeleteFunc(slices.Clone(r.files), func(f File) bool { return path.Ext(f.Path) != ".rego" })
}

// Data is what the file holds. It must not be changed.
func (f File) Data() []byte { return f.data }

// ReadFiles reads the files of a tree that a policy is made of, by path: .rego, the manifest, layer.yaml and the exceptions, with tests where they are asked for. It
// refuses what Load refuses before it parses anything; the error wraps Refusals.
func ReadFiles(ctx context.Context, t Tree, tests bool) ([]File, error) {
	r, refused := readTree(ctx, t, LoadOptions{Tests: tests}, newBudget())
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read policies: %w", err)
	}
	files := slices.Concat(r.files, r.tests)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, refused.Err()
}

// readTree reads a tree's policies, as long as there is room left. Tests and folders whose name begins with a dot are passed over, and
// so is every other file. A link is refused where it may be meant for policies: nothing below it would be loaded, without a word. So is a file of data, which
// OPA would load.
func readTree(ctx context.Context, t Tree, o LoadOptions, left *budget) (*read, lint.Refusals) {
	r := &read{tree: t, manifest: manifest{Roots: []string{root}}}
	data := "" // the last file of data
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
			if IsExceptions(p) {
				return fmt.Errorf("%s: %w: it is a folder, and exceptions are a file", p, errExceptions)
			}
			if t.Only != "" && p != "." {
				return fs.SkipDir
			}
			if hidden {
				if d.Name() != ".git" && p != editorFolder {
					r.passed = append(r.passed, path.Join(t.Prefix, p)+"/")
				}
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
		switch {
		case t.Only != "" && p != t.Only:
			return nil
		case strings.HasSuffix(p, "_test.rego"):
			if !o.Tests || t.Beside {
				return nil
			}
			return r.readFile(p, &r.tests, left)
		case misplacedLayer(p) && !t.Beside:
			return fmt.Errorf("%s: %w", p, errLayer)
		case p == manifestName || p == LayerFile || p == ExceptionsName || strings.HasSuffix(p, ".rego"):
			return r.readFile(p, &r.files, left)
		// A case. OPA reads them as data, which the tests in Rego have no use for.
		case strings.HasPrefix(p, casesFolder+"/") && isData(p):
			if !o.Cases || t.Beside {
				return nil
			}
			return r.readFile(p, &r.cases, left)
		case IsExceptions(p) && !hidden:
			return misplacedExceptions(p)
		case o.Data && !t.Beside && isData(p) && !hidden:
			return r.readFile(p, &r.data, left)
		case IsData(p) && !t.Beside:
			data = p
			return r.readData(p, left)
		}
		if !hidden && p != editorInput {
			r.passed = append(r.passed, path.Join(t.Prefix, p))
		}
		return nil
	})
	var refused lint.Refusals
	switch {
	case errors.Is(err, errData):
		refused = append(refused, lint.Refusal{Class: lint.ClassData, File: path.Join(t.Prefix, data), Problem: errData.Error(), Fix: dataFix})
	case err != nil:
		class := lint.ClassRead
		switch {
		case errors.Is(err, errExceptions):
			class = lint.ClassException
		case errors.Is(err, errLayer):
			class = lint.ClassLayer
		}
		refused = append(refused, lint.Refusal{Class: class, File: t.place(), Problem: fmt.Sprintf("read policies: %v", err), Fix: "correct that, or name another folder"})
	}
	refused = append(refused, r.readManifest()...)
	refused = append(refused, r.readExceptions()...)
	layer, twice := layerOf(r.files)
	refused = append(refused, twice...)
	speaks := len(r.policies())+len(r.tests) > 0 || layer.Path != "" || slices.ContainsFunc(r.files, func(f File) bool { return f.Path == ExceptionsName })
	if err == nil && !speaks {
		refused = append(refused, lint.Refusal{Class: lint.ClassEmpty, File: t.place(), Problem: "no policies in it", Fix: "name a folder that holds .rego files or " + ExceptionsName + ", or leave it out"})
	}
	return r, refused
}

// What lies in a tree for other programs, and is passed over without a word: Regal's configuration, and the document that its language server
// completes from.
const (
	editorFolder = ".regal"
	editorInput  = "input.json"
)

// casesFolder is the folder of a tree in which cases lie, each a file that says of a whole machine what has to be decided on it.
const casesFolder = "cases"

// Cases are the cases that were read with LoadOptions.Cases, in the order of their paths. They go to no other process with Send.
func (s *Sources) Cases() []File {
	var out []File
	for _, t := range s.trees {
		out = append(out, t.cases...)
	}
	return out
}

// isData reports whether a file is one of those that OPA reads as data.
func isData(p string) bool { return slices.Contains([]string{".json", ".yaml", ".yml"}, path.Ext(p)) }

// readData refuses a file of data unless nothing is in it.
func (r *read) readData(p string, left *budget) error {
	data, err := fs.ReadFile(r.tree.FS, p)
	if err != nil {
		return err
	}
	if left.bytes -= len(data); left.bytes < 0 {
		return fmt.Errorf("%s: %d bytes in all are the most", p, maxBytes)
	}
	return CheckData(p, data)
}

// IsData reports whether OPA takes a file of a bundle for data.
func IsData(p string) bool {
	base := path.Base(p)
	return base == "data.json" || base == "data.yaml" || base == "data.yml"
}

var errData = errors.New("rules here cannot read data")

// dataFix is what to do with data.
const dataFix = "write its values below rules.custom in config.yaml or in a package policies.lib.NAME, and remove it"

// CheckData refuses data: the rules here see one candidate and the configuration, and no other document. What OPA's tools write where there
// is no data is in order. Nothing is parsed but JSON, and of that one level.
func CheckData(p string, data []byte) error {
	text := strings.TrimSpace(string(data))
	if text == "" || text == "{}" {
		return nil
	}
	var fields map[string]json.RawMessage
	if path.Ext(p) == ".json" && json.Unmarshal(data, &fields) == nil && len(fields) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w: %s", p, errData, dataFix)
}

func (r *read) readFile(p string, to *[]File, left *budget) error {
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
	*to = append(*to, File{Tree: r.tree.Name, Path: p, Name: path.Join(r.tree.Prefix, p), data: data})
	return nil
}

// readManifest reads OPA's own file. Keys that are not known are passed over, as OPA does; a version of Rego other than the one that
// policies are read as is refused, and so is a revision that no report could print.
func (r *read) readManifest() lint.Refusals {
	i := slices.IndexFunc(r.files, func(f File) bool { return f.Path == manifestName })
	if i < 0 {
		return nil
	}
	m := manifest{}
	refuse := func(problem string) lint.Refusals {
		return lint.Refusals{{Class: lint.ClassManifest, File: r.files[i].Name, Problem: "read manifest: " + problem, Fix: `write {"revision": "...", "roots": ["policies"]}`}}
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
	if _, err := m.layer(); err != nil {
		return refuse(err.Error())
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

func (t Tree) place() string { return cmp.Or(t.Prefix, t.Name) }

// describe is the tree in a sentence.
func (t Tree) describe() string { return cmp.Or(t.Prefix, "the tree "+t.Name) }

// DigestOf names a set of files by their paths and what they hold.
func DigestOf(files []File) string { return digest([]*read{{files: files}}) }

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

// wireTree is a tree that was read, on its way to a process that builds a policy of it.
type wireTree struct {
	Name    string     `json:"name"`
	Prefix  string     `json:"prefix"`
	Beside  bool       `json:"beside,omitempty"`
	Bundled bool       `json:"bundled,omitempty"`
	Files   []wireFile `json:"files"`
	Tests   []wireFile `json:"tests,omitempty"`
	Data    []wireFile `json:"data,omitempty"`
}

type wireFile struct {
	Path string `json:"path"`
	Name string `json:"name"`
	Data []byte `json:"data"`
}

// MarshalJSON writes what was read.
func (s *Sources) MarshalJSON() ([]byte, error) {
	wire := func(files []File) (out []wireFile) {
		for _, f := range files {
			out = append(out, wireFile{Path: f.Path, Name: f.Name, Data: f.data})
		}
		return out
	}
	var out []wireTree
	for _, t := range s.trees {
		out = append(out, wireTree{
			Name: t.tree.Name, Prefix: t.tree.Prefix, Beside: t.tree.Beside, Bundled: t.tree.Bundled,
			Files: wire(t.files), Tests: wire(t.tests), Data: wire(t.data),
		})
	}
	return json.Marshal(out)
}

// UnmarshalJSON takes what was read somewhere else, and reads the manifests and the exceptions in it.
func (s *Sources) UnmarshalJSON(data []byte) error {
	var ws []wireTree
	if err := json.Unmarshal(data, &ws); err != nil {
		return err
	}
	*s = Sources{}
	for _, w := range ws {
		files := func(list []wireFile) (out []File) {
			for _, f := range list {
				out = append(out, File{Tree: w.Name, Path: f.Path, Name: f.Name, data: f.Data})
			}
			return out
		}
		t := &read{
			tree: Tree{Name: w.Name, Prefix: w.Prefix, Beside: w.Beside, Bundled: w.Bundled}, manifest: manifest{Roots: []string{root}},
			files: files(w.Files), tests: files(w.Tests), data: files(w.Data),
		}
		s.trees = append(s.trees, t)
		s.refused = slices.Concat(s.refused, t.readManifest(), t.readExceptions())
	}
	return nil
}
