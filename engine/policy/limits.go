package policy

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

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

// What a policy may say of one candidate. A path has at most 4096 bytes, and a folder with unsaved work names some dozens of them.
const (
	// MaxReasons is how many findings, and how many objections.
	MaxReasons = 200
	// maxMessage is how many bytes one message has.
	maxMessage = 8 << 10
	// MaxSaid is how many bytes all messages and all evidence of one candidate have, roughly as JSON.
	MaxSaid = 256 << 10
)

// Measure takes what a value costs as JSON from what is left. A value whose parts are shared is small in memory and may be endless
// when it is written out, so that nothing is written before it was measured.
type Measure struct{ left int }

// Room is a measure with room for so many bytes.
func Room(bytes int) *Measure { return &Measure{left: bytes} }

func (m *Measure) take(n int) bool {
	m.left -= n
	return m.left >= 0
}

func (m *Measure) text(s string, most int) error {
	if len(s) > most || !m.take(len(s)) {
		return fmt.Errorf("%w: a message of %d bytes; %d each and %d in all are the most", ErrTooMuch, len(s), most, MaxSaid)
	}
	return nil
}

// Fits reports whether there is room for v. It looks at no more than there is room for.
func (m *Measure) Fits(v ast.Value) bool {
	const punctuation = 4
	switch v := v.(type) {
	case ast.String:
		return m.take(len(v) + punctuation)
	case ast.Number:
		return m.take(len(v) + punctuation)
	case *ast.Array:
		ok := m.take(punctuation)
		for i := 0; ok && i < v.Len(); i++ {
			ok = m.Fits(v.Elem(i).Value)
		}
		return ok
	case ast.Set:
		return m.take(punctuation) && !v.Until(func(t *ast.Term) bool { return !m.Fits(t.Value) })
	case ast.Object:
		return m.take(punctuation) && !v.Until(func(k, v *ast.Term) bool { return !m.Fits(k.Value) || !m.Fits(v.Value) })
	default:
		return m.take(2 * punctuation)
	}
}
