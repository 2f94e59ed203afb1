package policy

import (
	"fmt"

	"github.com/winnow-reaper/winnow/engine/policy/lint"
)

// What may be loaded, far more than anybody writes: the shipped policies are some sixty files and sixty kilobytes.
const (
	// MaxPolicyFile is how many bytes one file may have, MaxPolicyEntries how many files and folders of any name all trees may have.
	MaxPolicyFile    = 1 << 20
	MaxPolicyEntries = 20000
	// maxFiles and maxBytes are of the policies of all trees, maxManifest is of a manifest.
	maxFiles    = 2000
	maxBytes    = 8 << 20
	maxManifest = 64 << 10
	// maxDepth is how deep a tree may be.
	maxDepth = 16
	// maxNesting is how deep brackets may be nested in a file. What parses, checks and compiles goes as deep.
	maxNesting = 100
)

// budget is what may still be read.
type budget struct{ files, bytes, entries int }

func newBudget() *budget {
	return &budget{files: maxFiles, bytes: maxBytes, entries: MaxPolicyEntries}
}

// scan looks at a file before anything parses it. It knows texts and comments, and of the rest brackets alone.
func scan(f File) lint.Refusals {
	line, depth := 1, 0
	refuse := func(problem, fix string) lint.Refusals {
		return lint.Refusals{{Class: lint.ClassLimit, File: f.Name, Line: line, Problem: problem, Fix: fix}}
	}
	for i := 0; i < len(f.data); i++ {
		switch c := f.data[i]; c {
		case '\n':
			line++
		case '#':
			for i+1 < len(f.data) && f.data[i+1] != '\n' {
				i++
			}
		case '"':
			for i++; i < len(f.data) && f.data[i] != '"' && f.data[i] != '\n'; i++ {
				if f.data[i] == '\\' {
					i++
				}
			}
			if i < len(f.data) && f.data[i] == '\n' {
				line++
			}
		case '`':
			for i++; i < len(f.data) && f.data[i] != '`'; i++ {
				if f.data[i] == '\n' {
					line++
				}
			}
		case '(', '[', '{':
			if depth++; depth > maxNesting {
				return refuse(fmt.Sprintf("nested deeper than %d brackets", maxNesting), "give parts of it names of their own")
			}
		case ')', ']', '}':
			depth = max(0, depth-1)
		}
	}
	return nil
}

// Scan refuses a file that must not be parsed: one whose brackets are nested too deep.
func Scan(name string, data []byte) error { return scan(File{Name: name, data: data}).Err() }
