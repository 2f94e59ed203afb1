package tower

import (
	"time"
)

// Fault is how a call goes wrong. The zero value is not at all.
type Fault struct {
	kind   faultKind
	status int
	body   string
	wait   time.Duration
}

type faultKind int

const (
	none faultKind = iota
	hang
	hangBefore
	closeWithout
	garbage
	partial
	huge
	status
	lostReply
	deleteNothing
	deleteOnlyRow
	deleteKeepsRow
	slow
)

// hugeSize is what Huge adds, in bytes.
const hugeSize = 5 << 20

// The faults. What hangs does so until either side closes. The last four are only for DELETE of a terminal.
var (
	Hang               = Fault{kind: hang}           // nothing is done, no answer ever comes
	HangBeforeReply    = Fault{kind: hangBefore}     // it is done, no answer ever comes
	CloseWithoutReply  = Fault{kind: closeWithout}   // nothing is done, the connection closes without an answer
	LostReply          = Fault{kind: lostReply}      // it is done, the connection closes without an answer
	Garbage            = Fault{kind: garbage}        // it is done, the answer is a 200 that is not JSON
	Partial            = Fault{kind: partial}        // it is done, half of the answer comes
	Huge               = Fault{kind: huge}           // it is done, the answer has 5 MB of an unknown field
	DeleteDoesNothing  = Fault{kind: deleteNothing}  // 204, and everything stays
	DeleteKillsOnlyRow = Fault{kind: deleteOnlyRow}  // 204, the row goes, the process and the entry stay
	DeleteKeepsRow     = Fault{kind: deleteKeepsRow} // 204, the process and the entry go, the row stays
)

// Status does nothing and answers with this code and body.
func Status(code int, body string) Fault { return Fault{kind: status, status: code, body: body} }

// SlowDelete does it, and answers, after this time.
func SlowDelete(wait time.Duration) Fault { return Fault{kind: slow, wait: wait} }
