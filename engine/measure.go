package engine

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

// What a policy may say of one candidate. A path has at most 4096 bytes, and a folder with unsaved work names some dozens of them.
const (
	// maxReasons is how many findings, and how many objections.
	maxReasons = 200
	// maxMessage is how many bytes one message has.
	maxMessage = 8 << 10
	// maxSaid is how many bytes all messages and all evidence of one candidate have, roughly as JSON.
	maxSaid = 256 << 10
)

// measure takes what a value costs as JSON from what is left. A value whose parts are shared is small in memory and may be endless
// when it is written out, so that nothing is written before it was measured.
type measure struct{ left int }

func (m *measure) take(n int) bool {
	m.left -= n
	return m.left >= 0
}

func (m *measure) text(s string, most int) error {
	if len(s) > most || !m.take(len(s)) {
		return fmt.Errorf("%w: a message of %d bytes; %d each and %d in all are the most", errTooMuch, len(s), most, maxSaid)
	}
	return nil
}

// fits reports whether there is room for v. It looks at no more than there is room for.
func (m *measure) fits(v ast.Value) bool {
	const punctuation = 4
	switch v := v.(type) {
	case ast.String:
		return m.take(len(v) + punctuation)
	case ast.Number:
		return m.take(len(v) + punctuation)
	case *ast.Array:
		ok := m.take(punctuation)
		for i := 0; ok && i < v.Len(); i++ {
			ok = m.fits(v.Elem(i).Value)
		}
		return ok
	case ast.Set:
		return m.take(punctuation) && !v.Until(func(t *ast.Term) bool { return !m.fits(t.Value) })
	case ast.Object:
		return m.take(punctuation) && !v.Until(func(k, v *ast.Term) bool { return !m.fits(k.Value) || !m.fits(v.Value) })
	default:
		return m.take(2 * punctuation)
	}
}
