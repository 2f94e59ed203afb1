package peercred

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// errClosed says that nobody has the other end of a connection any more, so that it is not known whose it was.
var errClosed = errors.New("the other end was closed")

// Accepted makes sure that the other end of a connection that was accepted on this machine's loopback is a socket of this user's, by the kernel's word. It sends and reads nothing.
func Accepted(conn net.Conn) error {
	local, errHere := netip.ParseAddrPort(conn.LocalAddr().String())
	remote, errThere := netip.ParseAddrPort(conn.RemoteAddr().String())
	if errHere != nil || errThere != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, errors.Join(errHere, errThere))
	}
	if !remote.Addr().Unmap().IsLoopback() {
		return errAway
	}
	e, err := ask(remote, local)
	switch {
	case err != nil:
		return fmt.Errorf("%w: the kernel does not say who has the other end (sock_diag: %w)", ErrUnknown, err)
	case e.inode == 0 || e.state == tcpListen: // of what waits for its end the kernel gives no user
		return fmt.Errorf("%w: %w", ErrUnknown, errClosed)
	}
	return judge(e.uid)
}
