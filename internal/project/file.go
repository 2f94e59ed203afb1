// Package project reads what a repository says about itself to Winnow, in .winnow/config.yaml of its main checkout, and remembers
// which of these files a user trusts.
//
// Such a file comes with a clone, so it is not trusted until the user says so. What it may say is small and can only keep
// things: entries that keep, and rules that are turned off there. All of it is data: no rule of a repository is loaded.
package project

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/keep"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
)

// Folder and Name are where the file lies in a checkout.
const (
	Folder = ".winnow"
	Name   = "config.yaml"
)

// maxSize and maxLevels bound the file: its bytes, and the rules that it turns off.
const (
	maxSize   = 64 << 10
	maxLevels = 100
)

// File is what a project says.
type File struct {
	Version int `json:"version" required:"a file of Winnow begins with version: 1"`
	// Protected are the entries that keep, with paths relative to the checkout.
	Protected []snapshot.Keep `json:"protected"`
	// Levels turns rules off, by their ids.
	Levels map[string]string `json:"levels"`
}

// Parse reads a project's file, which messages call name. The whole of it must be understood.
func Parse(name string, data []byte) (File, error) {
	var f File
	from := keep.Source{File: name, Inside: true}
	read, err := strict.Read(name, data, strict.Shape{
		Type: reflect.TypeFor[File](), Leaf: func(t reflect.Type, n *yaml.Node, at string) (string, bool) {
			if rule, ok := strings.CutPrefix(at, "levels."); ok {
				return wrongLevel(rule, n.Value), true
			}
			return from.Leaf(t, n, at)
		},
	}, &f)
	if err != nil {
		return File{}, err
	}
	wrong := from.Check(read, "protected", f.Protected)
	if f.Version != 1 {
		wrong = append(wrong, read.Bad(read.Line("version"), "version is %d; this program reads version 1", f.Version)...)
	}
	if n := len(f.Levels); n > maxLevels {
		wrong = append(wrong, read.Bad(read.Line("levels"), "levels has %d entries; %d are the most", n, maxLevels)...)
	}
	if len(wrong) > 0 {
		return File{}, wrong
	}
	return f, nil
}

// wrongLevel says what is wrong with the level of a rule, "" for nothing.
func wrongLevel(rule, level string) string {
	switch {
	case !decision.Reaps(rule):
		return fmt.Sprintf("%q is no rule that reaps (%s...); a project can turn off no other", rule, decision.ReapFamily)
	case level != decision.Off:
		return fmt.Sprintf("it is %q; a project can say %s and nothing else", level, decision.Off)
	}
	return ""
}

// Off lists the rules that the project turns off, sorted.
func (f *File) Off() []string {
	return append([]string{}, slices.Sorted(maps.Keys(f.Levels))...)
}
