package policy

import (
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
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
	// maxRefusals is how many refusals are said.
	maxRefusals = 100
	// maxDigits and maxExponent bound a number: 1e1000000000 is eleven bytes, and 400 MB as soon as somebody counts with it.
	maxDigits   = 300
	maxExponent = 300
)

// budget is what may still be read.
type budget struct{ files, bytes, entries int }

func newBudget() *budget {
	return &budget{files: maxFiles, bytes: maxBytes, entries: MaxPolicyEntries}
}

// scan looks at a file before anything parses it. It knows texts and comments, and of the rest brackets alone.
func scan(f File) Refusals {
	line, depth := 1, 0
	refuse := func(problem, fix string) Refusals {
		return Refusals{{Class: ClassLimit, File: f.Name, Line: line, Problem: problem, Fix: fix}}
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

// smallNumbers: what counts with a number makes all of its digits.
func smallNumbers(m *ast.Module, _ string) Refusals {
	var refused Refusals
	ast.WalkTerms(m, func(t *ast.Term) bool {
		if n, ok := t.Value.(ast.Number); ok && !small(string(n)) {
			refused = append(refused, refusalAt(ClassLimit, t.Location, fmt.Sprintf("the number %.20s... is too large to count with", string(n)), "write a smaller one"))
		}
		return false
	})
	return refused
}

// small reports whether a number has few digits when it is written out.
func small(n string) bool {
	digits, exponent, _ := strings.Cut(strings.ToLower(n), "e")
	exponent = strings.TrimLeft(strings.TrimLeft(exponent, "+-"), "0")
	if len(digits) > maxDigits || len(exponent) > len(fmt.Sprint(maxExponent)) {
		return false
	}
	value := 0
	for _, c := range exponent {
		value = 10*value + int(c-'0')
	}
	return value <= maxExponent
}

// noSchemas: a schema that a file brings would be believed instead of the closed one that every input is checked against.
func noSchemas(m *ast.Module, _ string) Refusals {
	var refused Refusals
	for _, a := range annotations(m) {
		if len(a.Schemas) > 0 {
			refused = append(refused, refusalAt(ClassSchemas, a.Location, "METADATA with schemas", "take them out: every policy is checked against the schema of the input, schemas/subject.json"))
		}
	}
	return refused
}

// annotations are those of a module and of its rules.
func annotations(m *ast.Module) []*ast.Annotations {
	out := m.Annotations
	for _, r := range m.Rules {
		out = append(out[:len(out):len(out)], r.Annotations...)
	}
	return out
}

// Scan refuses a file that must not be parsed: one whose brackets are nested too deep.
func Scan(name string, data []byte) error { return scan(File{Name: name, data: data}).Err() }
