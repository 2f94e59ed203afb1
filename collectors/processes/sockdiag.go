package processes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// The states of a socket that is asked for (net/tcp_states.h, for unix sockets too). One for datagrams never listens: it takes what is sent
// to its name as soon as it has one.
const (
	stateEstablished, stateSynRecv = 1, 3

	stateListen = 10
	stateClosed = 7 // bound, and not connected
)

// openStates has a bit for each state of a TCP connection that somebody still has: all but LISTEN, CLOSE and TIME_WAIT (6), which the kernel
// alone keeps. One that only one side has closed counts.
const openStates = uint32(1<<12-1) &^ (1<<stateListen | 1<<stateClosed | 1<<6 | 1<<0)

// The places of what is used in struct inet_diag_msg and unix_diag_msg, the attributes of a unix socket, and the bits that ask for them
// (linux/inet_diag.h, linux/unix_diag.h).
const (
	tcpStateAt, tcpPortAt, tcpAddrAt, tcpInodeAt = 1, 4, 8, 68

	unixKindAt           = 1
	unixStateAt          = 2
	unixInodeAt          = 4
	unixName, showName   = 0, 1
	unixVFS, showVFS     = 1, 2
	unixPeer, showPeer   = 2, 4  // the inode of the other end
	unixQueue, showQueue = 4, 16 // the first number is what waits to be read
	unixShutdown         = 6     // always told: 1 when no more can be received, 2 when no more can be sent
)

// diagnosis is a question to the kernel about the sockets of this network namespace, see sock_diag(7).
type diagnosis struct {
	family, protocol uint8
	// states has a bit for each state, show is what a unix socket tells beside its inode.
	states, show uint32
	// request and message are the lengths of what is sent and of what is received for a socket, without attributes.
	request, message int
	// whole refuses an answer during which the sockets changed, so that some of them may be missing.
	whole bool
}

func aboutTCP(family uint8, states uint32) diagnosis {
	return diagnosis{family: family, protocol: unix.IPPROTO_TCP, states: states, request: 56, message: 72, whole: true}
}

func aboutUnix(states, show uint32, whole bool) diagnosis {
	return diagnosis{family: unix.AF_UNIX, states: states, show: show, request: 24, message: 16, whole: whole}
}

var errInterrupted = errors.New("the sockets changed while they were listed")

// askTwice asks for sockets by their inodes, once more where they changed meanwhile.
func askTwice[K comparable, T any](ask func(found map[K]T) error) (map[K]T, error) {
	err := errInterrupted
	for n := 0; n < tries && errors.Is(err, errInterrupted); n++ {
		found := map[K]T{}
		if err = ask(found); err == nil {
			return found, nil
		}
	}
	return nil, fmt.Errorf("ask for sockets: %w", err)
}

// diagnoseTCP counts the TCP sockets, all but those that the kernel alone keeps.
func diagnoseTCP() (map[tcpSocket]int, error) {
	return askTwice(func(all map[tcpSocket]int) error {
		count := func(body []byte) error {
			inode := uint64(binary.NativeEndian.Uint32(body[tcpInodeAt:]))
			all[newTCP(inode, diagnosed(body, 0), diagnosed(body, 1), uint64(body[tcpStateAt]))]++
			return nil
		}
		const states = openStates | 1<<stateListen | 1<<stateClosed
		return errors.Join(aboutTCP(unix.AF_INET, states).ask(count), aboutTCP(unix.AF_INET6, states).ask(count))
	})
}

// diagnosed is the address of an end of a connection: 0 for this one, 1 for the other one.
func diagnosed(body []byte, end int) netip.AddrPort {
	length := 16
	if body[0] == unix.AF_INET {
		length = 4
	}
	at := tcpAddrAt + 16*end
	return address(body[at:at+length], uint64(binary.BigEndian.Uint16(body[tcpPortAt+2*end:])))
}

// ask gives the message of each socket.
func (d diagnosis) ask(each func(body []byte) error) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	// The kernel answers at once or never.
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2}); err != nil {
		return err
	}
	if err := unix.Sendto(fd, d.question(), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if done, err := d.answers(buf[:n], each); done || err != nil {
			return err
		}
	}
}

// question is the netlink message: both families have theirs begin with family, protocol, two bytes and states, and what follows for TCP is
// zero.
func (d diagnosis) question() []byte {
	e := binary.NativeEndian
	q := make([]byte, unix.SizeofNlMsghdr+d.request)
	e.PutUint32(q, uint32(len(q)))
	e.PutUint16(q[4:], unix.SOCK_DIAG_BY_FAMILY)
	e.PutUint16(q[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	body := q[unix.SizeofNlMsghdr:]
	body[0], body[1] = d.family, d.protocol
	e.PutUint32(body[4:], d.states)
	e.PutUint32(body[12:], d.show)
	return q
}

// answers gives the message of each socket in one datagram, and reports whether it was the last one.
func (d diagnosis) answers(data []byte, each func(body []byte) error) (done bool, err error) {
	messages, err := syscall.ParseNetlinkMessage(data)
	if err != nil {
		return false, err
	}
	for _, m := range messages {
		switch kind := m.Header.Type; {
		case d.whole && m.Header.Flags&unix.NLM_F_DUMP_INTR != 0:
			return false, errInterrupted
		case kind == unix.NLMSG_DONE:
			return true, nil
		case kind == unix.NLMSG_ERROR && len(m.Data) >= 4:
			return false, unix.Errno(-int32(binary.NativeEndian.Uint32(m.Data)))
		case kind != unix.SOCK_DIAG_BY_FAMILY || len(m.Data) < d.message:
			return false, unix.EBADMSG
		}
		if err := each(m.Data); err != nil {
			return false, err
		}
	}
	return false, nil
}

// attributes gives each attribute in the message of a unix socket.
func (d diagnosis) attributes(each func(body []byte, name uint16, value []byte)) func([]byte) error {
	return func(body []byte) error {
		for attr := body[d.message:]; len(attr) >= 4; {
			length := int(binary.NativeEndian.Uint16(attr))
			if length < 4 || length > len(attr) {
				return unix.EBADMSG
			}
			each(body, binary.NativeEndian.Uint16(attr[2:]), attr[4:length])
			attr = attr[min((length+3)&^3, len(attr)):]
		}
		return nil
	}
}
