package policy

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

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

// Remaining is how many bytes there is room for.
func (m *Measure) Remaining() int { return m.left }

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
