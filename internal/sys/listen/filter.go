package listen

import (
	"net"
	"sync"

	"github.com/winnow-reaper/winnow/internal/sys/peercred"
)

// Conn is a connection whose maker the kernel named.
type Conn struct {
	net.Conn
	// PID is the process that connected as this pid namespace counts it, 0 for one outside of it. It may have handed the connection on.
	UID, PID int
	closed   func()
}

// Close implements net.Conn.
func (c Conn) Close() error {
	defer c.closed()
	return c.Conn.Close()
}

// FilterPeers lets those connections of a unix socket through that this user or root made, up to most at the same time: more wait until one is closed. Others are closed at once and told
// nothing; refused hears why, and must not wait.
func FilterPeers(l net.Listener, most int, refused func(error)) net.Listener {
	return Bound(l, most, peercred.Client, refused)
}

// Bound lets those connections through whose peer is admitted, up to most at the same time: more wait until one is closed. Others are closed at once and told nothing; refused hears why,
// and must not wait.
func Bound(l net.Listener, most int, admit func(net.Conn) (uid, pid int, err error), refused func(error)) net.Listener {
	return &own{Listener: l, admit: admit, refused: refused, open: make(chan struct{}, most), over: make(chan struct{})}
}

type own struct {
	net.Listener
	admit   func(net.Conn) (uid, pid int, err error)
	refused func(error)
	open    chan struct{}
	once    sync.Once
	over    chan struct{}
}

// Accept implements net.Listener.
func (o *own) Accept() (net.Conn, error) {
	select {
	case o.open <- struct{}{}:
	case <-o.over:
		return nil, net.ErrClosed
	}
	for {
		c, err := o.Listener.Accept()
		if err != nil {
			<-o.open
			return nil, err
		}
		uid, pid, err := o.admit(c)
		if err == nil {
			return Conn{c, uid, pid, sync.OnceFunc(func() { <-o.open })}, nil
		}
		_ = c.Close()
		o.refused(err)
	}
}

// Close implements net.Listener.
func (o *own) Close() error {
	o.once.Do(func() { close(o.over) })
	return o.Listener.Close()
}
