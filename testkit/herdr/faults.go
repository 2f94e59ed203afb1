package herdr

import "sync"

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
	Garbage           = Fault{kind: garbage}      // it is done, the answer is no JSON
	HugeReply         = Fault{kind: huge}         // it is done, the answer has 5 MB of a field that nobody knows
	LostReply         = Fault{kind: lostReply}    // it is done, the connection closes without an answer
	CloseWithoutReply = Fault{kind: closeWithout} // nothing is done, the connection closes without an answer
	Wedged            = Fault{kind: wedged}       // from now on all but ping hangs and does nothing
)

// ErrorReply does nothing and answers with this error.
func ErrorReply(code, message string) Fault {
	return Fault{kind: errorReply, code: code, message: message}
}

type hooks struct {
	sync.Mutex
	before, after func(n int, c Call)
	fault         func(n int, c Call) Fault
	wedged        bool
}

// Before has f called before the n-th request, from 1, is looked at by the server; f may change the world. Requests on several
// connections at once call it at once.
func (s *Server) Before(f func(n int, c Call)) {
	s.hooks.Lock()
	defer s.hooks.Unlock()
	s.hooks.before = f
}

// After has f called when the n-th request was done and its answer is made, before any of that is sent.
func (s *Server) After(f func(n int, c Call)) {
	s.hooks.Lock()
	defer s.hooks.Unlock()
	s.hooks.after = f
}

// Fault has f decide what goes wrong with the n-th request.
func (s *Server) Fault(f func(n int, c Call) Fault) {
	s.hooks.Lock()
	defer s.hooks.Unlock()
	s.hooks.fault = f
}

// Wedge makes all but ping hang, or ends that for requests to come.
func (s *Server) Wedge(on bool) {
	s.hooks.Lock()
	defer s.hooks.Unlock()
	s.hooks.wedged = on
}

// arrive runs what the test wants before the request, outside the lock: it may set other hooks.
func (h *hooks) arrive(n int, c Call) Fault {
	h.Lock()
	before, fault := h.before, h.fault
	h.Unlock()
	if before != nil {
		before(n, c)
	}
	if fault == nil {
		return Fault{}
	}
	return fault(n, c)
}

func (h *hooks) leave(n int, c Call) {
	h.Lock()
	after := h.after
	h.Unlock()
	if after != nil {
		after(n, c)
	}
}

// stuck says whether the request is never looked at.
func (h *hooks) stuck(fault Fault, method string) bool {
	h.Lock()
	defer h.Unlock()
	if fault.kind == wedged {
		h.wedged = true
	}
	return fault.kind == hangAfter || h.wedged && method != "ping"
}
