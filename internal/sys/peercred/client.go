package peercred

import (
	"errors"
	"net"
)

// Client makes sure, by the kernel's word, that who connected to a unix socket is this user or root, and gives its uid and its process as this pid namespace counts it, 0 for one
// outside of it. It sends and reads nothing.
func Client(conn net.Conn) (uid, pid int, err error) {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, 0, ErrNotSocket
	}
	who, err := credentials(c)
	if err != nil {
		return 0, 0, errors.Join(ErrUnknown, err)
	}
	if who.Uid != 0 || ambiguous(0) {
		err = judge(who.Uid)
	}
	return int(who.Uid), int(who.Pid), err
}
