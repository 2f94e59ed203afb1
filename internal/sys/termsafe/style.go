package termsafe

import "bytes"

// Style is how a piece of text looks on a terminal that shows colours.
type Style string

// The styles; no other sequence passes a Writer.
const (
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"

	plainAgain Style = "0"
)

var styles = []Style{Bold, Dim, Red, Green, Yellow, plainAgain}

const esc = 0x1b

func (s Style) sequence() string { return "\x1b[" + string(s) + "m" }

// Apply gives text in the style.
func (s Style) Apply(text string) string { return s.sequence() + text + plainAgain.sequence() }

// styled says how long the style at the start of data is, 0 where data does not begin with one, and whether more of data could.
func styled(data []byte) (n int, more bool) {
	for _, s := range styles {
		seq := []byte(s.sequence())
		if bytes.HasPrefix(data, seq) {
			return len(seq), false
		}
		more = more || bytes.HasPrefix(seq, data)
	}
	return 0, more
}
