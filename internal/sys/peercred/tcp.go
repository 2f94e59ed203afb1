package peercred

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// firstPause and longestPause are between two questions whether a connection was accepted.
	firstPause   = 500 * time.Microsecond
	longestPause = 20 * time.Millisecond
	// lostAfter is how long the kernel may not know of the other end of a connection on this machine's loopback.
	lostAfter = 200 * time.Millisecond
	// maxHeaders bounds the headers of an answer, in bytes.
	maxHeaders = 64 << 10
)

// errAway says that an address is not on this machine.
var errAway = errors.New("it is not on this machine's loopback")

// Transport goes nowhere but to this machine's loopback and to servers of this user: nothing, not even a request's
// first byte, is sent before DialTCP agreed. It asks no proxy, speaks HTTP/1.1 only, and bounds the headers of an
// answer. The caller bounds its time and its body, and follows no redirect.
func Transport() *http.Transport {
	var plain http.Protocols
	plain.SetHTTP1(true)
	return &http.Transport{DialContext: DialTCP, Proxy: nil, Protocols: &plain, DisableCompression: true, MaxResponseHeaderBytes: maxHeaders}
}

// DialTCP connects to addr, which must be on this machine's loopback, and makes sure that this user's process has
// taken the connection and this user's socket listens there. It waits until the connection is accepted, for as long as
// ctx lasts: until then no process owns it, and the listener may have been another user's. Since a connection is asked
// for by both its addresses, it does not matter to which of a name's addresses it went, nor who takes the port
// afterwards.
func DialTCP(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Control: home}
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if err := trust(ctx, conn.LocalAddr(), conn.RemoteAddr()); err != nil {
		_ = conn.Close()
		return nil, &net.OpError{Op: "dial", Net: network, Addr: conn.RemoteAddr(), Err: fmt.Errorf("who listens there: %w", err)}
	}
	return conn, nil
}

// home refuses to connect to anything but this machine, for every name.
func home(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !to.Addr().Unmap().IsLoopback() {
		return errAway
	}
	return nil
}

func trust(ctx context.Context, here, there net.Addr) error {
	local, remote, err := addresses(here, there)
	if err != nil {
		return err
	}
	taken, err := accepted(ctx, local, remote)
	if err != nil {
		return err
	}
	if err := judgeListener(taken.uid); err != nil {
		return err
	}
	// A program of this user's may have been made to take another user's connections.
	listens, err := ask(remote, netip.AddrPort{})
	switch {
	case err != nil:
		return unasked(err)
	case listens.state != tcpListen:
		return fmt.Errorf("%w: no program listens there now", ErrUnknown)
	}
	return judgeListener(listens.uid)
}

// addresses are the two ends of a connection.
func addresses(here, there net.Addr) (local, remote netip.AddrPort, err error) {
	local, errHere := netip.ParseAddrPort(here.String())
	remote, errThere := netip.ParseAddrPort(there.String())
	if err = errors.Join(errHere, errThere); err != nil {
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return local, remote, err
}

// accepted waits until a process has taken the connection, and gives its end.
func accepted(ctx context.Context, local, remote netip.AddrPort) (end, error) {
	begin, pause := time.Now(), firstPause
	for {
		e, err := ask(remote, local)
		switch lost := err != nil || e.state == tcpListen; {
		case err != nil && !errors.Is(err, unix.ENOENT):
			return end{}, unasked(err)
		case !lost && e.inode != 0 && e.state != tcpSynRecv && e.state != tcpNewSynRecv:
			return e, nil
		case lost && time.Since(begin) > lostAfter:
			return end{}, fmt.Errorf("%w: the kernel knows no other end of the connection here; it may be in a container's network: run winnow there", ErrUnknown)
		}
		select {
		case <-ctx.Done():
			return end{}, context.Cause(ctx)
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
	}
}

func judgeListener(uid uint32) error {
	err := judge(uid)
	if errors.Is(err, ErrOther) {
		return fmt.Errorf("%w, and nothing was sent: see who listens there (ss -ltne), or name another address", err)
	}
	return err
}

func unasked(err error) error {
	return fmt.Errorf("%w: the kernel does not say who has that connection (sock_diag: %w); nothing was sent: run winnow where it may ask", ErrUnknown, err)
}

// Accepted makes sure that the other end of a connection that was accepted on this machine's loopback is a socket of
// this user's, by the kernel's word. It sends and reads nothing.
func Accepted(conn net.Conn) error {
	local, remote, err := addresses(conn.LocalAddr(), conn.RemoteAddr())
	if err != nil {
		return err
	}
	if !remote.Addr().Unmap().IsLoopback() {
		return errAway
	}
	e, err := ask(remote, local)
	switch {
	case err != nil:
		return fmt.Errorf("%w: the kernel does not say who has the other end (sock_diag: %w)", ErrUnknown, err)
	case e.inode == 0 || e.state == tcpListen: // of what waits for its end the kernel gives no user
		return fmt.Errorf("%w: the other end was closed", ErrUnknown)
	}
	return judge(e.uid)
}

// The sizes of struct inet_diag_req_v2 and inet_diag_msg, and the places of what is used in them (linux/inet_diag.h).
const (
	diagRequest = 56
	diagMessage = 72
	stateAt     = 1
	sportAt     = 4
	dportAt     = 6
	uidAt       = 64
	inodeAt     = 68
)

// States of net/tcp_states.h.
const (
	tcpSynRecv    = 3
	tcpListen     = 10
	tcpNewSynRecv = 12
)

// end is one socket of a TCP connection, or a listening one.
type end struct {
	state uint8
	uid   uint32
	// inode is 0 for a connection that is not accepted yet: then uid says nothing (some kernels give 0, which is root's).
	inode uint32
}

// ask asks the kernel (sock_diag(7)) for the socket of this network namespace that has that local address and is connected to
// remote. The kernel looks it up as it would for a packet, so that where no connection is, it gives who listens there; an
// invalid remote asks for that alone. It gives unix.ENOENT where there is neither.
func ask(local, remote netip.AddrPort) (end, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return end{}, err
	}
	defer func() { _ = unix.Close(fd) }()
	// The kernel answers at once or never.
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2}); err != nil {
		return end{}, err
	}
	if err := unix.Sendto(fd, question(local, remote), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return end{}, err
	}
	buf := make([]byte, 8<<10)
	var n int
	var from unix.Sockaddr
	err = retry(func() (err error) {
		n, from, err = unix.Recvfrom(fd, buf, 0)
		return err
	})
	if err != nil {
		return end{}, err
	}
	if k, ok := from.(*unix.SockaddrNetlink); !ok || k.Pid != 0 {
		return end{}, fmt.Errorf("the answer is not the kernel's: %w", unix.EBADMSG)
	}
	return answer(buf[:n], local, remote)
}

func question(local, remote netip.AddrPort) []byte {
	family, none := uint8(unix.AF_INET6), netip.AddrPortFrom(netip.IPv6Unspecified(), 0)
	if local.Addr().Unmap().Is4() {
		family, none = unix.AF_INET, netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
	}
	if !remote.IsValid() {
		remote = none
	}
	e := binary.NativeEndian
	q := e.AppendUint32(nil, unix.SizeofNlMsghdr+diagRequest)
	q = e.AppendUint16(q, unix.SOCK_DIAG_BY_FAMILY)
	q = e.AppendUint16(q, unix.NLM_F_REQUEST)
	q = append(q, make([]byte, 8)...)
	q = append(q, family, unix.IPPROTO_TCP, 0, 0)
	q = e.AppendUint32(q, ^uint32(0)) // in every state
	q = binary.BigEndian.AppendUint16(q, local.Port())
	q = binary.BigEndian.AppendUint16(q, remote.Port())
	for _, a := range []netip.Addr{local.Addr(), remote.Addr()} {
		var raw [16]byte
		copy(raw[:], a.Unmap().AsSlice())
		q = append(q, raw[:]...)
	}
	q = e.AppendUint32(q, 0)          // any interface
	q = e.AppendUint64(q, ^uint64(0)) // INET_DIAG_NOCOOKIE
	return q
}

// answer reads one netlink message. What is not the answer to the question is EBADMSG.
func answer(data []byte, local, remote netip.AddrPort) (end, error) {
	e := binary.NativeEndian
	if len(data) < unix.SizeofNlMsghdr {
		return end{}, unix.EBADMSG
	}
	size, kind := int(e.Uint32(data)), e.Uint16(data[4:])
	if size < unix.SizeofNlMsghdr || size > len(data) {
		return end{}, unix.EBADMSG
	}
	body := data[unix.SizeofNlMsghdr:size]
	switch {
	case kind == unix.NLMSG_ERROR && len(body) >= 4 && e.Uint32(body) != 0:
		return end{}, unix.Errno(-int32(e.Uint32(body)))
	case kind != unix.SOCK_DIAG_BY_FAMILY || len(body) < diagMessage:
		return end{}, unix.EBADMSG
	}
	out := end{state: body[stateAt], uid: e.Uint32(body[uidAt:]), inode: e.Uint32(body[inodeAt:])}
	sport, dport := binary.BigEndian.Uint16(body[sportAt:]), binary.BigEndian.Uint16(body[dportAt:])
	if sport != local.Port() || out.state != tcpListen && dport != remote.Port() {
		return end{}, unix.EBADMSG
	}
	return out, nil
}
