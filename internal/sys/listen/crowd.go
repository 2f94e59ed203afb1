package listen

import (
	"net"
	"net/http"
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
	c.Serve(conn)
	if s == http.StateClosed || s == http.StateHijacked {
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

// Serve takes a connection out that has asked for something: it is closed for no other one, until it waits again.
func (c *Crowd) Serve(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, w := range c.waiting {
		if inner(w) == inner(conn) {
			c.waiting = append(c.waiting[:i:i], c.waiting[i+1:]...)
			return
		}
	}
}

// inner is what can be compared of a connection.
func inner(conn net.Conn) net.Conn {
	if c, ok := conn.(Conn); ok {
		return c.Conn
	}
	return conn
}
