package collectors

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
)

// Env gives the environment of a look. The nil one is empty.
type Env func(key string) string

// Get gives a variable, "" where it is missing.
func (e Env) Get(key string) string {
	if e == nil {
		return ""
	}
	return e(key)
}

// Failing is the reader of what could not even be looked for.
type Failing struct{ Err error }

// Read implements Reader.
func (f Failing) Read(context.Context) (Part, error) { return Part{}, f.Err }

// Resolved is where path leads, or path itself where that is not known.
func Resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// Distinct leaves the first path of those that lead to the same place.
func Distinct(paths []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		real := Resolved(path)
		defer func() { seen[real] = true }()
		return seen[real]
	})
}

// Short is a suffix that tells one path from another, the same one at every look.
func Short(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:2])
}

// Names gives each path the name of its source: the kind, a slash, and what name says. Of two with the same name, those that are not at
// home where that name comes from get a suffix, and so do those with the name reserved.
func Names(kind, reserved string, paths []string, name func(path string) (name string, home bool)) map[string]string {
	count := map[string]int{}
	for _, path := range paths {
		called, _ := name(path)
		count[called]++
	}
	out := map[string]string{}
	for _, path := range paths {
		called, home := name(path)
		if (count[called] > 1 || called == reserved) && !home {
			called += "~" + Short(path)
		}
		out[path] = kind + "/" + called
	}
	return out
}
