// Package makers says by the records of the tools that made them whether folders hold nothing but what these tools make again. It reads and
// changes nothing, follows no link, and takes what it cannot read for something that no tool makes.
package makers

import (
	"context"
	"encoding/csv"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/folder"
)

// maxEntries is how many files and folders are looked at; a tree with more is not known.
const maxEntries = 500_000

// slack is how long a tool may take to write one package.
const slack = 2 * time.Second

var errOwn = errors.New("a file that no tool makes")

// Rebuildable says whether the tools' own records show that every part of a tree can be made again. Parts are the outermost folders for which part is
// true; what lies outside of them is not asked about. A name says that the tree as a whole is a part, which was called so.
func Rebuildable(ctx context.Context, tree, name string, part func(rel string) bool) bool {
	left := maxEntries
	if name != "" {
		return rebuildable(ctx, tree, name, &left)
	}
	err := filepath.WalkDir(tree, func(path string, e fs.DirEntry, err error) error {
		if left--; err != nil || left < 0 || ctx.Err() != nil {
			return errors.Join(err, errOwn)
		}
		rel, err := filepath.Rel(tree, path)
		if err != nil || rel == "." || !part(rel) && !(e.IsDir() && tagged(path)) {
			return err
		}
		if !e.IsDir() && !strings.HasSuffix(rel, ".log") { // which may be all that is known of a run
			return nil // a file of a name that only tools give
		}
		if !rebuildable(ctx, path, e.Name(), &left) {
			return errOwn
		}
		return fs.SkipDir
	})
	return err == nil
}

// rebuildable says so of one folder, by the records in it.
func rebuildable(ctx context.Context, path, name string, left *int) bool {
	var made func(rel string, e fs.DirEntry) bool
	switch {
	case name == "node_modules":
		made = npm(path)
	case name == "__pycache__":
		made = func(rel string, _ fs.DirEntry) bool { return strings.HasSuffix(rel, ".pyc") }
	case has(path, "pyvenv.cfg"):
		made = python(path)
	case has(path, ".rustc_info.json"):
		made = cargo(path)
	case strings.HasPrefix(name, ".") && tagged(path):
		made = func(string, fs.DirEntry) bool { return true }
	}
	if made == nil {
		return false
	}
	return filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		if *left--; err != nil || *left < 0 || ctx.Err() != nil {
			return errors.Join(err, errOwn)
		}
		rel, err := filepath.Rel(path, at)
		if err == nil && e.Type()&fs.ModeSymlink == 0 && !e.IsDir() && (!e.Type().IsRegular() || !made(rel, e)) {
			err = errOwn
		}
		return err
	}) == nil
}

func tagged(path string) bool {
	f, err := folder.OpenAt(unix.AT_FDCWD, path)
	if err != nil {
		return false
	}
	defer f.Close()
	return f.Tagged()
}

func has(path, name string) bool {
	info, err := os.Lstat(filepath.Join(path, name))
	return err == nil && info.Mode().IsRegular()
}

// changed is when a file was last changed in any way, which no program can set; the zero time where it is not known.
func changed(path string) time.Time {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return time.Time{}
	}
	return time.Unix(st.Ctim.Unix())
}

// npm goes by the record that npm writes last, and by the package.json that it unpacks with each package: a file that was changed later is
// a person's. The record names packages and no files.
func npm(path string) func(string, fs.DirEntry) bool {
	last, packages := changed(filepath.Join(path, ".package-lock.json")), map[string]time.Time{}
	return func(rel string, _ fs.DirEntry) bool {
		at := changed(filepath.Join(path, rel))
		if rel == ".package-lock.json" {
			return !at.IsZero()
		}
		if strings.HasPrefix(rel, ".cache/") || strings.HasPrefix(rel, ".vite/") {
			return true
		}
		root := packageOf(rel)
		if root == "" || last.IsZero() || at.IsZero() || at.After(last) {
			return false
		}
		unpacked, known := packages[root]
		if !known {
			unpacked = changed(filepath.Join(path, root, "package.json"))
			packages[root] = unpacked
		}
		return !unpacked.IsZero() && at.Sub(unpacked).Abs() <= slack
	}
}

// packageOf is the folder of the package that a file in node_modules belongs to; "" for a file of none.
func packageOf(rel string) string {
	parts := strings.Split(rel, "/")
	at := 0
	for i, p := range parts {
		if p == "node_modules" {
			at = i + 1
		}
	}
	n := at + 1
	if at < len(parts) && strings.HasPrefix(parts[at], "@") {
		n++
	}
	if n >= len(parts) || strings.HasPrefix(parts[at], ".") {
		return ""
	}
	return strings.Join(parts[:n], "/")
}

// python goes by the RECORD of each package in a virtual environment, which names its files with their sizes and is written last, and by the names of
// what venv, virtualenv and uv write.
func python(path string) func(string, fs.DirEntry) bool {
	type listed struct {
		size    int64
		written time.Time
	}
	files := map[string]listed{}
	records, _ := filepath.Glob(filepath.Join(noGlob.Replace(path), "lib", "python*", "site-packages", "*.dist-info", "RECORD"))
	for _, record := range records {
		f, err := os.Open(record)
		if err != nil {
			continue
		}
		rows, err := csv.NewReader(f).ReadAll()
		_ = f.Close()
		if err != nil {
			continue
		}
		for _, row := range rows {
			size, err := strconv.ParseInt(row[len(row)-1], 10, 64)
			if err != nil {
				size = -1
			}
			at, err := filepath.Rel(path, filepath.Join(filepath.Dir(filepath.Dir(record)), row[0]))
			if err == nil && filepath.IsLocal(at) {
				files[at] = listed{size, changed(record)}
			}
		}
	}
	return func(rel string, e fs.DirEntry) bool {
		if own, ok := files[rel]; ok {
			info, err := e.Info()
			return err == nil && (own.size < 0 || info.Size() == own.size) && changed(filepath.Join(path, rel)).Sub(own.written) <= slack
		}
		dir, name := filepath.Split(rel)
		switch {
		case strings.HasSuffix(dir, "__pycache__/"):
			return strings.HasSuffix(name, ".pyc")
		case dir == "bin/":
			return venvScript.MatchString(name) && changed(filepath.Join(path, rel)).Sub(changed(filepath.Join(path, "pyvenv.cfg"))).Abs() <= time.Minute
		}
		return rel == "pyvenv.cfg" || rel == ".gitignore" || rel == "CACHEDIR.TAG" || rel == ".lock"
	}
}

// venvScript matches what an environment has in bin without any package.
var venvScript = regexp.MustCompile(`\A(activate(\.[a-z]+|_this\.py)?|Activate\.ps1|deactivate\.bat|pydoc\.bat|python[0-9.]*)\z`)

// noGlob makes a path one in which no letter has a meaning for filepath.Glob.
var noGlob = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// cargo goes by the places and names of what cargo and rustc write below a profile's folder, and by the NAME.d beside each program, which
// names it.
func cargo(path string) func(string, fs.DirEntry) bool {
	return func(rel string, _ fs.DirEntry) bool {
		parts := strings.Split(rel, "/")
		if len(parts) == 1 {
			return rel == "CACHEDIR.TAG" || rel == ".rustc_info.json" || rel == ".rustdoc_fingerprint.json"
		}
		name := parts[len(parts)-1]
		for i, p := range parts[:len(parts)-1] {
			switch {
			case i == 0:
			case p == ".fingerprint", p == "incremental", parts[i-1] == "build" && hashed(p):
				return true
			case p == "deps", p == "examples":
				return hashed(name)
			}
		}
		return name == ".cargo-lock" || listed(filepath.Join(path, filepath.Dir(rel)), name)
	}
}

// listed says whether a file is the one that NAME.d beside it names, or is that NAME.d.
func listed(dir, name string) bool {
	stem := strings.TrimSuffix(name, filepath.Ext(name))
	f, err := os.Open(filepath.Join(dir, stem+".d"))
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, unix.PathMax)
	n, _ := f.Read(head)
	output, _, ok := strings.Cut(string(head[:n]), ": ")
	base := filepath.Base(output)
	return ok && (base == name || name == stem+".d" && strings.TrimSuffix(base, filepath.Ext(base)) == stem)
}

// hashed says whether a name has the hash that cargo puts into it, and the end of what rustc writes.
func hashed(name string) bool {
	stem, end, _ := strings.Cut(name, ".")
	i := strings.LastIndexByte(stem, '-')
	if i < 0 || len(stem)-i != 17 || strings.Trim(stem[i+1:], "0123456789abcdef") != "" {
		return false
	}
	return slices.Contains(rustcEnds, end[strings.LastIndexByte(end, '.')+1:])
}

// rustcEnds are the ends of the names of what rustc writes.
var rustcEnds = []string{"", "d", "rlib", "rmeta", "o", "so", "a", "dylib", "dll", "exe", "pdb", "wasm"}
