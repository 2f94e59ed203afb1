package tower

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Call is one request that arrived.
type Call struct {
	Method string
	Path   string // as it was sent, with the query
	// Key says whether it carried the key that the Tower wants.
	Key bool
	At  time.Time
}

type record struct {
	sync.Mutex
	calls    []Call
	announce []Call
	strange  []Call
}

// reads are the GETs that change nothing, with * for one segment. Every other does: it looks for stale rows and deletes them.
var reads = []string{"/api/version", "/api/terminals", "/api/terminals/*", "/api/terminals/*/output", "/api/shellpers/husks"}

// mutates says whether a call changes anything, or would if it were let. What the Tower does not know at all is not a read.
func (c Call) mutates() bool {
	path, _, _ := strings.Cut(c.Path, "?")
	return c.Method != http.MethodGet || !slices.ContainsFunc(reads, func(pattern string) bool {
		_, ok := match(pattern, path)
		return ok
	})
}

// match holds a path against a pattern, and gives the segments that are * there.
func match(pattern, path string) (found []string, ok bool) {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return nil, false
	}
	for i := range want {
		if want[i] == "*" && have[i] != "" {
			found = append(found, have[i])
		} else if want[i] != have[i] {
			return nil, false
		}
	}
	return found, true
}

// add remembers a call and gives its number, from 1.
func (r *record) add(c Call) int {
	r.Lock()
	defer r.Unlock()
	r.calls = append(r.calls, c)
	if c.mutates() {
		i := slices.IndexFunc(r.announce, func(a Call) bool { return a.Method == c.Method && a.Path == c.Path })
		if i < 0 {
			r.strange = append(r.strange, c)
		} else {
			r.announce = slices.Delete(r.announce, i, i+1)
		}
	}
	return len(r.calls)
}

// Expect announces one call that changes something: the method, and the path, letter by letter. A GET cannot be announced.
func (s *Server) Expect(method, path string) {
	if method == http.MethodGet {
		panic("expect GET " + path + ": no GET that changes something may be called")
	}
	s.rec.Lock()
	defer s.rec.Unlock()
	s.rec.announce = append(s.rec.announce, Call{Method: method, Path: path})
}

// Calls gives every request so far, in the order of arrival.
func (s *Server) Calls() []Call {
	s.rec.Lock()
	defer s.rec.Unlock()
	return slices.Clone(s.rec.calls)
}

// Mutations gives those that change something, or would have.
func (s *Server) Mutations() (out []Call) {
	for _, c := range s.Calls() {
		if c.mutates() {
			out = append(out, c)
		}
	}
	return out
}

// Unexpected gives the mutations that nobody had announced.
func (s *Server) Unexpected() []Call {
	s.rec.Lock()
	defer s.rec.Unlock()
	return slices.Clone(s.rec.strange)
}

// Outstanding gives the announced calls that have not come.
func (s *Server) Outstanding() []Call {
	s.rec.Lock()
	defer s.rec.Unlock()
	return slices.Clone(s.rec.announce)
}
