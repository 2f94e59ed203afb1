package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/cmd/winnow/config"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/foreign"
	"github.com/winnow-reaper/winnow/internal/memfs"
)

// tried are the files that winnow policy try was given, as a tree of policies.
type tried struct {
	tree policy.Tree
	// packages are the folders of the packages in it: reap/dirs/scratch.
	packages map[string]bool
	// shown leads from a file's name in the tree to what the person calls it.
	shown map[string]string
	// digest is that of all that was read: two with the same one say the same.
	digest [sha256.Size]byte
}

// triedTree is the name of the tree of what is tried.
const triedTree = "tried"

// families are the folders that a tree of policies has at its top.
var families = []string{"reap", "protect", "lib", "main"}

// readTried reads a file, with the files beside it where it lies in its package's folder; or a folder, which is a tree of policies or the folder of one
// package.
func readTried(ctx context.Context, given string) (*tried, error) {
	named, err := config.Path(given)
	if err != nil {
		return nil, err
	}
	st, err := os.Stat(named)
	if err != nil {
		return nil, err
	}
	out := &tried{packages: map[string]bool{}, shown: map[string]string{}}
	files := memfs.FS{}
	if st.IsDir() && slices.ContainsFunc(families, func(family string) bool { return isDir(filepath.Join(named, family)) }) {
		err = out.readTree(ctx, files, named, given)
	} else {
		err = out.readPackage(ctx, files, named, given, st.IsDir())
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(sum, "%q %d ", name, len(files[name].Data))
		sum.Write(files[name].Data)
	}
	sum.Sum(out.digest[:0])
	out.tree = policy.Tree{Name: triedTree, FS: files, Prefix: triedTree}
	return out, nil
}

func isDir(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.IsDir()
}

// readTree takes a tree of policies without its tests.
func (t *tried) readTree(ctx context.Context, to memfs.FS, named, given string) error {
	tree, err := policyTree(ctx, named)
	if err != nil {
		return err
	}
	tree.Prefix = given
	files, err := policy.ReadFiles(ctx, tree, false)
	if err != nil {
		return err
	}
	for _, f := range files {
		if strings.HasSuffix(f.Path, ".rego") {
			t.packages[path.Dir(f.Path)] = true
		}
		t.add(to, f.Path, filepath.Join(given, f.Path), f.Data())
	}
	return nil
}

// readPackage takes the files of one package, and puts them where its name says that they belong.
func (t *tried) readPackage(ctx context.Context, to memfs.FS, named, given string, folder bool) error {
	beside := []string{named}
	if folder {
		var err error
		if beside, err = regoIn(named); err != nil {
			return err
		}
		if len(beside) == 0 {
			return fmt.Errorf("%s holds neither policies (.rego) nor one of the folders %s", given, strings.Join(families, ", "))
		}
	} else if filepath.Ext(named) != ".rego" || strings.HasSuffix(named, "_test.rego") {
		return fmt.Errorf("%s is no policy: the name of one ends in .rego, and not in _test.rego", given)
	}
	in := ""
	for i := 0; i < len(beside); i++ {
		file, shown := beside[i], given
		if folder {
			shown = filepath.Join(given, filepath.Base(file))
		} else if i > 0 {
			shown = filepath.Join(filepath.Dir(given), filepath.Base(file))
		}
		f, err := foreign.Read(ctx, file, foreign.Want{Max: policy.MaxPolicyFile, Ruling: true})
		if err != nil {
			return err
		}
		at, err := packageFolder(shown, f.Data)
		switch {
		case err != nil:
			return err
		case in == "":
			in = at
			if !folder && strings.HasSuffix(filepath.Dir(named), "/"+in) { // its package is its folder, so all of that is meant
				all, err := regoIn(filepath.Dir(named))
				if err != nil {
					return err
				}
				beside = append(beside, slices.DeleteFunc(all, func(other string) bool { return filepath.Base(other) == filepath.Base(named) })...)
			}
		case at != in:
			return policy.Refusals{{Class: policy.ClassPlace, File: shown, Line: 1, Problem: "the files of the folder are of several packages", Fix: "put each package into a folder of its own"}}
		}
		t.packages[in] = true
		t.add(to, path.Join(in, filepath.Base(file)), shown, f.Data)
	}
	return nil
}

func (t *tried) add(to memfs.FS, name, shown string, data []byte) {
	to[name] = memfs.File{Data: data}
	t.shown[path.Join(triedTree, name)] = shown
}

// regoIn are the policies in a folder, without their tests.
func regoIn(folder string) (out []string, err error) {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".rego") && !strings.HasSuffix(name, "_test.rego") && !strings.HasPrefix(name, ".") {
			out = append(out, filepath.Join(folder, name))
		}
		if len(out) > policy.MaxPolicyEntries {
			return nil, fmt.Errorf("%s: %d files are the most", folder, policy.MaxPolicyEntries)
		}
	}
	return out, err
}

// clause is the first thing in a file of Rego: the package that it is of.
var clause = regexp.MustCompile(`^[ \t]*package[ \t]+([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)[ \t]*(?:#.*)?\r?$`)

// packageFolder is the folder that a file's package belongs into: reap/dirs/scratch of policies.reap.dirs.scratch. Nothing is parsed for it.
func packageFolder(name string, data []byte) (string, error) {
	row := 0
	refuse := func(text, problem string) error {
		return policy.Refusals{{Class: policy.ClassPlace, File: name, Line: max(row, 1), Text: text, Problem: problem,
			Fix: "begin it with the package, such as package policies.reap.dirs.mine or package policies.protect.mine: where it belongs is known by that"}}
	}
	for line := range bytes.Lines(data) {
		row++
		text := strings.TrimRight(string(line), "\r\n")
		if bare := strings.TrimSpace(text); bare == "" || bare[0] == '#' {
			continue
		}
		m := clause.FindStringSubmatch(text)
		switch {
		case m == nil:
			return "", refuse(strings.TrimSpace(text), "the first line that is no comment is no package")
		case !strings.HasPrefix(m[1], "policies."):
			return "", refuse(strings.TrimSpace(text), fmt.Sprintf("package %s is not below policies", m[1]))
		}
		return strings.ReplaceAll(strings.TrimPrefix(m[1], "policies."), ".", "/"), nil
	}
	return "", refuse("", "the file is empty")
}

// refusals are an error in reading or loading as the problems that it is of, under the names that the person knows.
func (t *tried) refusals(err error) (policy.Refusals, bool) {
	var rs policy.Refusals
	if !errors.As(err, &rs) {
		return nil, false
	}
	rs = slices.Clone(rs)
	for i := range rs {
		rs[i].File = t.nameOf(rs[i].File)
	}
	return rs, true
}

func (t *tried) nameOf(file string) string {
	if t != nil && t.shown[file] != "" {
		return t.shown[file]
	}
	return file
}

// without are trees that leave out the packages which are tried, so that what is tried takes their place.
func (t *tried) without(ctx context.Context, trees []policy.Tree) (out []policy.Tree, err error) {
	for _, tree := range trees {
		files, err := policy.ReadFiles(ctx, tree, false)
		if err != nil {
			return nil, policyError(ctx, err)
		}
		if left := t.leave(files); len(left) > 0 {
			out = append(out, policy.Tree{Name: tree.Name, FS: left, Prefix: tree.Prefix})
		}
	}
	return out, nil
}

// leave are the files of a tree that are not of a package which is tried; none where there is no policy among them.
func (t *tried) leave(files []policy.File) memfs.FS {
	left, any := memfs.FS{}, false
	for _, f := range files {
		rego := strings.HasSuffix(f.Path, ".rego")
		if rego && t.packages[path.Dir(f.Path)] {
			continue
		}
		any = any || rego
		left[f.Path] = memfs.File{Data: f.Data()}
	}
	if !any {
		return nil
	}
	return left
}

// ofLoaded are the trees that a loaded policy was made of, without the packages that are tried.
func (t *tried) ofLoaded(p *policy.Policy) (out []policy.Tree) {
	by := map[string][]policy.File{}
	var names []string
	for _, f := range p.Files {
		if by[f.Tree] == nil {
			names = append(names, f.Tree)
		}
		by[f.Tree] = append(by[f.Tree], f)
	}
	for _, name := range names {
		if left := t.leave(by[name]); len(left) > 0 {
			first := by[name][0]
			out = append(out, policy.Tree{Name: name, FS: left, Prefix: strings.TrimSuffix(strings.TrimSuffix(first.Name, first.Path), "/")})
		}
	}
	return out
}
