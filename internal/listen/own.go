package listen

import (
	"net"

	"github.com/winnow-reaper/winnow/internal/peer"
)

// Conn is a connection of which the kernel said who made it.
type Conn struct {
	net.Conn
	// PID is the process that connected as this pid namespace counts it, 0 for one outside of it. It may have handed the connection on.
	UID, PID int
}

// Own lets those connections of a unix socket through that this user or root made. Others are closed at once and told nothing; refused hears why, and must not wait.
func Own(l net.Listener, refused func(error)) net.Listener { return own{l, refused} }

type own struct {
	net.Listener
	refused func(error)
}

// Accept implements net.Listener.
func (o own) Accept() (net.Conn, error) {
	for {
		c, err := o.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uid, pid, err := peer.Client(c)
		if err == nil {
			return Conn{c, uid, pid}, nil
		}
		_ = c.Close()
		o.refused(err)
	}
}
