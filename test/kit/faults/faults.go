// Package faults is what the servers for tests have in common: hooks by which a test steps in at a request, and the record of all requests,
// in which those that change something must have been announced.
package faults

import (
	"slices"
	"sync"
)

// Server is the part of a server that a test steers; servers embed it. C is one request, F how one goes wrong, its zero value not at all.
// All methods may be called from any goroutine, also from hooks.
type Server[C, F any] struct {
	hooks         sync.Mutex
	before, after func(n int, c C)
	fault         func(n int, c C) F

	rec                      sync.Mutex
	calls, announce, strange []C
	mutates                  func(C) bool
	same                     func(announced, c C) bool
}

// Init says which requests change something, and which one was meant by one that was announced. It is called before all else.
func (s *Server[C, F]) Init(mutates func(C) bool, same func(announced, c C) bool) {
	s.mutates, s.same = mutates, same
}

// Before has f called before the n-th request, from 1, is looked at by the server; f may change the world. Requests on several
// connections at once call it at once.
func (s *Server[C, F]) Before(f func(n int, c C)) {
	s.hooks.Lock()
	defer s.hooks.Unlock()
	s.before = f
}

// After has f called when the n-th request was done and its answer is made, before any of that is sent.
func (s *Server[C, F]) After(f func(n int, c C)) {
	s.hooks.Lock()
	defer s.hooks.Unlock()
	s.after = f
}

// Fault has f decide what goes wrong with the n-th request.
func (s *Server[C, F]) Fault(f func(n int, c C) F) {
	s.hooks.Lock()
	defer s.hooks.Unlock()
	s.fault = f
}

// Arrive remembers a request, gives its number and runs what the test wants before it, outside the lock: it may set other hooks.
func (s *Server[C, F]) Arrive(c C) (n int, fault F) {
	n = s.add(c)
	s.hooks.Lock()
	before, decide := s.before, s.fault
	s.hooks.Unlock()
	if before != nil {
		before(n, c)
	}
	if decide != nil {
		fault = decide(n, c)
	}
	return n, fault
}

// Leave runs what the test wants once the n-th request was done.
func (s *Server[C, F]) Leave(n int, c C) {
	s.hooks.Lock()
	after := s.after
	s.hooks.Unlock()
	if after != nil {
		after(n, c)
	}
}

func (s *Server[C, F]) add(c C) int {
	s.rec.Lock()
	defer s.rec.Unlock()
	s.calls = append(s.calls, c)
	if s.mutates(c) {
		i := slices.IndexFunc(s.announce, func(a C) bool { return s.same(a, c) })
		if i < 0 {
			s.strange = append(s.strange, c)
		} else {
			s.announce = slices.Delete(s.announce, i, i+1)
		}
	}
	return len(s.calls)
}

// Announce says that a request will come that changes something.
func (s *Server[C, F]) Announce(c C) {
	s.rec.Lock()
	defer s.rec.Unlock()
	s.announce = append(s.announce, c)
}

// Calls gives every request so far, in the order of arrival.
func (s *Server[C, F]) Calls() []C {
	s.rec.Lock()
	defer s.rec.Unlock()
	return slices.Clone(s.calls)
}

// Mutations gives those that change something, or would have.
func (s *Server[C, F]) Mutations() (out []C) {
	for _, c := range s.Calls() {
		if s.mutates(c) {
			out = append(out, c)
		}
	}
	return out
}

// Unexpected gives the mutations that the test had not announced.
func (s *Server[C, F]) Unexpected() []C {
	s.rec.Lock()
	defer s.rec.Unlock()
	return slices.Clone(s.strange)
}

// Outstanding gives the announced requests that have not come.
func (s *Server[C, F]) Outstanding() []C {
	s.rec.Lock()
	defer s.rec.Unlock()
	return slices.Clone(s.announce)
}
