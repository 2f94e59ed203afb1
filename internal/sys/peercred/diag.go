package peercred

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

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
