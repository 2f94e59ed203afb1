package tower

import (
	"net/http"
	"slices"
	"strings"
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

// reads are the GETs that change nothing, of those that are served here. Most others look for stale rows and delete them.
var reads = []string{"/api/version", "/api/terminals", "/api/shellpers/husks"}

// mutates says whether a call changes anything, or would if it were let. What the Tower does not know at all is not a read.
func (c Call) mutates() bool {
	path, _, _ := strings.Cut(c.Path, "?")
	return c.Method != http.MethodGet || !slices.Contains(reads, path)
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

// Expect announces one call that changes something: the method, and the path, letter by letter. A GET cannot be announced.
func (s *Server) Expect(method, path string) {
	if method == http.MethodGet {
		panic("expect GET " + path + ": no GET that changes something may be called")
	}
	s.Announce(Call{Method: method, Path: path})
}
