// Package project reads what a repository says about itself to Winnow, in .winnow/config.yaml of its main checkout, and remembers
// which of these files a user trusts.
//
// Such a file comes with a clone, so it is not trusted until the user says so. What it may say is small and can only keep
// things: paths, holds, and rules that are turned off there. Exceptions may lie beside it. All of it is data: no rule of a repository is loaded.
package project

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
)

// Folder and Name are where the file lies in a checkout, and Exceptions is the file with its exceptions beside it.
const (
	Folder     = ".winnow"
	Name       = "config.yaml"
	Exceptions = policy.ExceptionsName
)

// The bounds of each of the two files: bytes, entries of a list, bytes of a text.
const (
	maxSize = 64 << 10
	maxList = 100
	maxText = 500
)

// File is what a project says.
type File struct {
	Version int `json:"version" required:"a file of Winnow begins with version: 1"`
	// Protected are globs over paths, relative to the checkout; * stays within one folder, ** does not.
	Protected []string `json:"protected"`
	Holds     []Hold   `json:"holds"`
	// Levels turns rules off, by their ids.
	Levels map[string]string `json:"levels"`
}

// Hold keeps one path, relative to the checkout, and what lies below it.
type Hold struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Parse reads a project's file, which messages call name. The whole of it must be understood.
func Parse(name string, data []byte) (File, error) {
	var f File
	if _, err := strict.Read(name, data, strict.Shape{Type: reflect.TypeFor[File]()}, &f); err != nil {
		return File{}, err
	}
	if err := f.check(); err != nil {
		return File{}, strict.Problem{
			File: name, Line: strict.Line(data, err.Error(), func(string) string { return "" }), Key: strict.KeyOf(err.Error()), Text: err.Error(),
		}
	}
	return f, nil
}

func (f *File) check() error {
	if f.Version != 1 {
		return fmt.Errorf("version is %d; this program reads version 1", f.Version)
	}
	for key, n := range map[string]int{"protected": len(f.Protected), "holds": len(f.Holds), "levels": len(f.Levels)} {
		if n > maxList {
			return fmt.Errorf("%s has %d entries; %d are the most", key, n, maxList)
		}
	}
	for i, p := range f.Protected {
		clean, err := cleanInside(p)
		if err != nil {
			return fmt.Errorf("protected[%d]: %q %w", i, p, err)
		}
		f.Protected[i] = clean
	}
	for i, h := range f.Holds {
		clean, err := cleanInside(h.Path)
		switch {
		case err != nil:
			return fmt.Errorf("holds[%d].path: %q %w", i, h.Path, err)
		case strings.ContainsAny(h.Path, "*?"):
			return fmt.Errorf("holds[%d].path: %q is a pattern: a hold names one path, protected takes patterns", i, h.Path)
		case strings.TrimSpace(h.Reason) == "":
			return fmt.Errorf("holds[%d]: it has no reason; say why %q is to stay", i, h.Path)
		case len(h.Reason) > maxText:
			return fmt.Errorf("holds[%d].reason is longer than %d bytes", i, maxText)
		}
		f.Holds[i].Path = clean
	}
	for _, rule := range f.Off() {
		if !decision.Reaps(rule) {
			return fmt.Errorf("levels: %q is no rule that reaps (%s...); a project can turn off no other", rule, decision.ReapFamily)
		}
	}
	for rule, level := range f.Levels {
		if level != decision.Off {
			return fmt.Errorf("levels: %s is %q; a project can say %s and nothing else", rule, level, decision.Off)
		}
	}
	return nil
}

// Off lists the rules that the project turns off, sorted.
func (f *File) Off() []string {
	out := make([]string, 0, len(f.Levels))
	for rule := range f.Levels {
		out = append(out, rule)
	}
	slices.Sort(out)
	return out
}

// cleanInside gives a path or pattern in its plainest form, and refuses one that could lead out of the checkout or says more than * and ?.
func cleanInside(p string) (string, error) {
	switch {
	case p == "":
		return "", fmt.Errorf("is empty")
	case len(p) > maxText:
		return "", fmt.Errorf("is longer than %d bytes", maxText)
	case strings.ContainsAny(p, `[]{}!\`) || strings.ContainsFunc(p, func(r rune) bool { return r < 0x20 || r == 0x7f }):
		return "", fmt.Errorf(`has one of []{}!\ or a control character: only * ** and ? are special here`)
	case strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~"):
		return "", fmt.Errorf("is not relative to the project")
	case slices.Contains(strings.Split(p, "/"), ".."):
		return "", fmt.Errorf("leads out of the project")
	}
	if p = path.Clean(p); p == "." {
		return "**", nil
	}
	return p, nil
}
