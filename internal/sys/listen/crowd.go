package listen

import (
	"net"
	"net/http"
	"slices"
	"sync"
)

// Crowd bounds how many connections of an HTTP server there may be that are owed nothing: those that have sent no whole request yet, and those that wait for the next one. One more closes the
// oldest of them, so that a client which opens many and sends little blocks no client that asks.
type Crowd struct {
	most int
	mu   sync.Mutex
	// waiting are they, the oldest first.
	waiting []net.Conn
}

// NewCrowd gives one of at most so many.
func NewCrowd(most int) *Crowd { return &Crowd{most: most} }

// Watch is for http.Server.ConnState.
func (c *Crowd) Watch(conn net.Conn, s http.ConnState) {
	// One that was closed as the oldest may still begin to be read: it is not in the way of those that came later.
	if waited := c.Serve(conn); s == http.StateClosed || s == http.StateHijacked || s == http.StateActive && !waited {
		return
	}
	c.mu.Lock()
	c.waiting = append(c.waiting, conn)
	var oldest net.Conn
	if len(c.waiting) > c.most {
		oldest = c.waiting[0]
		c.waiting = c.waiting[1:]
	}
	c.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close()
	}
}

// Serve takes a connection out that has asked for something: it is closed for no other one, until it waits again. It gives whether it waited.
func (c *Crowd) Serve(conn net.Conn) (waited bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.waiting)
	c.waiting = slices.DeleteFunc(c.waiting, func(w net.Conn) bool { return inner(w) == inner(conn) })
	return len(c.waiting) < before
}

// inner is what can be compared of a connection.
func inner(conn net.Conn) net.Conn {
	if c, ok := conn.(Conn); ok {
		return c.Conn
	}
	return conn
}
