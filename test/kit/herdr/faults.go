package herdr

// Fault is how a request goes wrong. The zero value is not at all.
type Fault struct {
	kind          faultKind
	code, message string
}

type faultKind int

const (
	none faultKind = iota
	hangAfter
	hangBefore
	partialLine
	splitReply
	garbage
	huge
	errorReply
	lostReply
	closeWithout
	wedged
)

// hugeSize is what HugeReply adds, in bytes.
const hugeSize = 5 << 20

// The faults. What hangs does so until either side closes.
var (
	HangAfterAccept   = Fault{kind: hangAfter}    // nothing is done, no answer ever comes
	HangBeforeReply   = Fault{kind: hangBefore}   // it is done, no answer ever comes
	PartialLine       = Fault{kind: partialLine}  // it is done, half of the answer comes
	SplitReply        = Fault{kind: splitReply}   // it is done, the answer comes in pieces
	Garbage           = Fault{kind: garbage}      // it is done, the answer is not JSON
	HugeReply         = Fault{kind: huge}         // it is done, the answer has 5 MB of an unknown field
	LostReply         = Fault{kind: lostReply}    // it is done, the connection closes without an answer
	CloseWithoutReply = Fault{kind: closeWithout} // nothing is done, the connection closes without an answer
	Wedged            = Fault{kind: wedged}       // from now on all but ping hangs and does nothing
)

// ErrorReply does nothing and answers with this error.
func ErrorReply(code, message string) Fault {
	return Fault{kind: errorReply, code: code, message: message}
}

// Wedge makes all but ping hang, or ends that for requests to come.
func (s *Server) Wedge(on bool) { s.wedged.Store(on) }

// stuck says whether the request is never looked at.
func (s *Server) stuck(fault Fault, method string) bool {
	if fault.kind == wedged {
		s.Wedge(true)
	}
	return fault.kind == hangAfter || s.wedged.Load() && method != "ping"
}
