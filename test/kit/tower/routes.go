package tower

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/procs"
)

// request is what a route needs to know.
type request struct {
	args  []string // what stands for * in the pattern
	query url.Values
	fault Fault
	life  chan struct{}
}

// routes are those that Winnow or a test asks, with * for one segment. Codev's other routes are answered as unknown ones: asking it fails the
// test all the same.
var routes = []struct {
	method, pattern string
	answer          func(*Server, request) answer
}{
	{"GET", "/api/version", (*Server).version},
	{"GET", "/api/terminals", (*Server).listTerminals},
	{"DELETE", "/api/terminals/*", (*Server).deleteTerminal},
	{"GET", "/api/shellpers/husks", (*Server).listHusks},
}

func (s *Server) version(request) answer {
	s.turn.Lock()
	defer s.turn.Unlock()
	return ok(object{"version": Version, "startedAt": iso(s.startedAt)})
}

// iso is how the Tower writes times that are not numbers.
func iso(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// info is what the Tower says of a terminal. The caller has the turn.
func (t *terminal) info() object {
	status := "running"
	if t.exited {
		status = "exited"
	}
	o := object{
		"id": t.id, "pid": t.pid, "cols": procs.Columns, "rows": procs.Rows, "label": t.label(), "status": status, "createdAt": iso(t.createdAt),
		"persistent": true, "lastDataAt": t.dataAt().UnixMilli(), "writable": !t.exited,
	}
	if t.exited && t.code != nil {
		o["exitCode"] = *t.code
	}
	return o
}

// dataAt is when the terminal last printed.
func (t *terminal) dataAt() time.Time {
	if _, last := t.sh.out.Text(); last.After(t.lastData) {
		return last
	}
	return t.lastData
}

func (s *Server) listTerminals(request) answer {
	s.turn.Lock()
	defer s.turn.Unlock()
	list := []object{}
	for _, t := range s.registered {
		list = append(list, t.info())
	}
	return ok(object{"terminals": list})
}

func noTerminal(id string) answer {
	return refuse(http.StatusNotFound, "NOT_FOUND", fmt.Sprintf("Session %s not found", id))
}

func (s *Server) deleteTerminal(r request) answer {
	id := r.args[0]
	s.turn.Lock()
	t := s.find(id)
	s.turn.Unlock()
	if t == nil {
		return noTerminal(id)
	}
	done := answer{status: http.StatusNoContent}
	switch r.fault.kind {
	case deleteNothing:
		return done
	case deleteOnlyRow:
		s.dropRow(id)
		return done
	case slow:
		select {
		case <-time.After(r.fault.wait):
		case <-r.life:
			return answer{status: http.StatusInternalServerError}
		}
	}
	s.remove(t, r.fault.kind == deleteKeepsRow)
	return done
}

// remove ends the terminal as Codev does: the process, the entry, the row and the socket.
func (s *Server) remove(t *terminal, keepRow bool) {
	s.turn.Lock()
	t.closing = true
	s.turn.Unlock()
	t.sh.end(s.o.KillWait)
	s.turn.Lock()
	s.registered = slices.DeleteFunc(s.registered, func(other *terminal) bool { return other == t })
	s.turn.Unlock()
	if !keepRow {
		s.dropRow(t.id)
	}
	_ = os.Remove(t.sh.socket)
}

func (s *Server) listHusks(request) answer {
	s.turn.Lock()
	defer s.turn.Unlock()
	list := []object{}
	for _, one := range s.husks() {
		list = append(list, object{"pid": one.pid, "rssKb": rssKb(one.pid), "ageMs": one.ageMs})
	}
	return ok(object{"candidates": list, "graceMs": s.o.GraceMs})
}

// sweepHusks ends the husks, as a Tower does that starts.
func (s *Server) sweepHusks() {
	s.turn.Lock()
	found := s.husks()
	s.turn.Unlock()
	for _, one := range found {
		s.endProcess(one.pid)
	}
}
