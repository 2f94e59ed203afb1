package editor

// Fault is how a request goes wrong. The zero value is not at all.
type Fault struct {
	kind          faultKind
	code, message string
	change        func(line []byte) []byte
}

type faultKind int

const (
	none faultKind = iota
	hangAfter
	hangBefore
	partialLine
	splitReply
	huge
	errorReply
	lostReply
	closeWithout
	another
	idle
)

// hugeSize is what HugeReply adds, in bytes.
const hugeSize = 2 << 20

// The faults. What hangs does so until either side closes.
var (
	HangAfterAccept   = Fault{kind: hangAfter}    // nothing is done, no answer ever comes
	HangBeforeReply   = Fault{kind: hangBefore}   // it is done, no answer ever comes
	PartialLine       = Fault{kind: partialLine}  // it is done, half of the answer comes
	SplitReply        = Fault{kind: splitReply}   // it is done, the answer comes in pieces
	HugeReply         = Fault{kind: huge}         // it is done, the answer has 2 MB of an unknown field
	LostReply         = Fault{kind: lostReply}    // it is done, the connection closes without an answer
	CloseWithoutReply = Fault{kind: closeWithout} // nothing is done, the connection closes without an answer
	Idle              = Fault{kind: idle}         // a tab is not closed, and the answer says that it is gone
)

// ErrorReply does nothing and answers with this error.
func ErrorReply(code, message string) Fault {
	return Fault{kind: errorReply, code: code, message: message}
}

// Another is done, and the answer is what change makes of the right one, a whole line with its newline: the schema does not hold for it.
func Another(change func(line []byte) []byte) Fault { return Fault{kind: another, change: change} }
