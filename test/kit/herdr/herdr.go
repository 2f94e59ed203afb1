// Package herdr is a herdr server for tests: it speaks herdr's JSON socket, has panes that are real processes on real terminals, closes
// them as herdr does, and can be made to misbehave in every way that a client must survive. Nothing but tests imports it.
//
// Every reply is held against herdr's own schema before it is sent. Every request is recorded, and one that changes anything and was not
// announced with Expect fails the test.
//
// The first tab of the first workspace has the focus until it is moved.
package herdr

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/faults"
	"github.com/winnow-reaper/winnow/test/kit/procs"
)

// Profile is a version of herdr, and decides what the server knows and how it closes.
type Profile string

// The versions that there are.
const (
	V071   Profile = "0.7.1" // protocol 14, without session.snapshot
	V074   Profile = "0.7.4" // protocol 16
	V075   Profile = "0.7.5" // protocol 17; the last that refuses to close a workspace's last tab
	V080   Profile = "0.8.0" // protocol 19
	V082   Profile = "0.8.2" // protocol 20
	V091   Profile = "0.9.1" // protocol 22; a subscription begins with what happens from then on. Its eleven further methods are not served here
	Future Profile = "1.2.0" // protocol 99, with unknown fields and statuses
)

var protocols = map[Profile]int{V071: 14, V074: 16, V075: 17, V080: 19, V082: 20, V091: 22, Future: 99}

// Options is how the server is. The zero value is a herdr 0.8.0 with its defaults, on a socket in a folder of its own.
type Options struct {
	// Socket is where to listen; its folder is made if need be. A path longer than the kernel takes is refused.
	Socket  string
	Profile Profile
	// Version and Protocol, when set, are what the server says it is, for every profile.
	Version  string
	Protocol int
	// Lacks are methods that the server does not know, besides those that its version does not.
	Lacks []string
	// ConfirmCloseOff closes a whole worktree group without asking.
	ConfirmCloseOff bool
	// Nulls writes null for what is absent, where the schema lets it, instead of leaving it out.
	Nulls bool
	// Labels gives panes their tab's label and agents that name, as herdr up to 0.7.4 did.
	Labels bool
	// Tick is how often the server looks for events to send; 100 ms, as herdr, if 0.
	Tick time.Duration
	// Poll is how long the server sleeps before it reads a request; herdr can take 100 ms.
	Poll time.Duration
	// NoSchema leaves out the check of replies, for benchmarks.
	NoSchema bool
}

// Server is one. All its methods may be called from any goroutine, also from hooks.
type Server struct {
	o       Options
	home    string // for the shells, and the socket unless it was given
	mark    string // what every process in a pane has in its environment
	profile Profile

	turn sync.Mutex // the app loop: one request, or one change of the world, at a time
	m    model

	live sync.Mutex // guards the four below
	ln   *net.UnixListener
	conn map[net.Conn]bool
	life chan struct{} // closed when this life of the server ends
	shut bool

	working sync.WaitGroup

	faults.Server[Call, Fault]
	rec    record
	wedged atomic.Bool
	// subscribers counts the connections that get events.
	subscribers atomic.Int64
	wire        *schema
}

// New starts a server. The caller closes it.
func New(o Options) (*Server, error) {
	if o.Profile == "" {
		o.Profile = V080
	}
	if protocols[o.Profile] == 0 {
		return nil, fmt.Errorf("start herdr: %q is no profile", o.Profile)
	}
	wire, err := compiled()
	if err != nil {
		return nil, fmt.Errorf("start herdr: %w", err)
	}
	home, err := os.MkdirTemp("", "herdr")
	if err != nil {
		return nil, fmt.Errorf("start herdr: %w", err)
	}
	s := &Server{o: o, home: home, profile: o.Profile, wire: wire, mark: "TESTKIT_HERDR=" + filepath.Base(home)}
	s.Init(s.mutates, func(a, c Call) bool { return a.Method == c.Method && a.Target == c.Target })
	if s.o.Socket == "" {
		s.o.Socket = filepath.Join(home, "herdr.sock")
	}
	if err := s.listen(); err != nil {
		os.RemoveAll(home)
		return nil, fmt.Errorf("start herdr: %w", err)
	}
	return s, nil
}

// Start starts a server that ends with the test. The test fails if a request changed anything unannounced, or if a reply was not what the
// schema says.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	s, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
		for _, c := range s.Unexpected() {
			tb.Errorf("herdr was asked for %s of %q, which the test did not announce", c.Method, c.Target)
		}
		for _, text := range s.Invalid() {
			tb.Errorf("herdr sent what its schema forbids: %s", text)
		}
	})
	return s
}

// Close ends the server, its connections, also those that hang, and every process that was started in a pane, wherever it has gone.
func (s *Server) Close() error {
	s.stopListening(false)
	s.live.Lock()
	s.shut = true
	s.live.Unlock()
	s.working.Wait()
	s.turn.Lock()
	defer s.turn.Unlock()
	together(s.orphan(), (*child).kill)
	return errors.Join(procs.EndMarked(s.mark), os.RemoveAll(s.home))
}

// together ends many sessions in the time that one takes.
func together(children []*child, end func(*child)) {
	var all sync.WaitGroup
	for _, c := range children {
		all.Go(func() { end(c) })
	}
	all.Wait()
}

// Socket is where the server listens.
func (s *Server) Socket() string { return s.o.Socket }

// Version is what the server says its version is.
func (s *Server) Version() string {
	if s.o.Version != "" {
		return s.o.Version
	}
	return string(s.profile)
}

// Protocol is what the server says its protocol is.
func (s *Server) Protocol() int {
	if s.o.Protocol != 0 {
		return s.o.Protocol
	}
	return protocols[s.profile]
}

// atLeast says whether the profile is that one or a later one. Profiles are ordered as their names are.
func (s *Server) atLeast(p Profile) bool { return strings.Compare(string(s.profile), string(p)) >= 0 }
