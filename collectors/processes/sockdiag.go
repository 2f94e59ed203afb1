package processes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// The sizes of struct inet_diag_req_v2 and inet_diag_msg, and the places of what is used in them (linux/inet_diag.h).
const (
	diagRequest = 56
	diagMessage = 72
	diagPortAt  = 4
	diagInodeAt = 68
	// tcpListen is TCP_LISTEN of net/tcp_states.h.
	tcpListen = 10
	// interrupted is NLM_F_DUMP_INTR: what was dumped changed meanwhile, so that some of it may be missing.
	interrupted = unix.NLM_F_DUMP_INTR
)

var errInterrupted = errors.New("the sockets changed while they were listed")

// diagnose asks the kernel for all listening TCP sockets of this network namespace, by inode, see sock_diag(7).
func diagnose() (map[uint64]int, error) {
	ports := map[uint64]int{}
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		err := dump(family, ports)
		for n := 1; n < tries && errors.Is(err, errInterrupted); n++ {
			err = dump(family, ports)
		}
		if err != nil {
			return nil, fmt.Errorf("ask for listening sockets: %w", err)
		}
	}
	return ports, nil
}

func dump(family uint8, ports map[uint64]int) error {
	return askDiag(diagQuestion(family), func(data []byte) (bool, error) { return addDiag(ports, data) })
}

// askDiag sends a question to the kernel's socket diagnosis and hands over each datagram of the answer, until add says that it was the last.
func askDiag(question []byte, add func([]byte) (bool, error)) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	// The kernel answers at once or never.
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2}); err != nil {
		return err
	}
	if err := unix.Sendto(fd, question, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
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
		if done, err := add(buf[:n]); done || err != nil {
			return err
		}
	}
}

func diagQuestion(family uint8) []byte {
	const flags = unix.NLM_F_REQUEST | unix.NLM_F_DUMP
	e := binary.NativeEndian
	q := e.AppendUint32(nil, unix.SizeofNlMsghdr+diagRequest)
	q = e.AppendUint16(q, unix.SOCK_DIAG_BY_FAMILY)
	q = e.AppendUint16(q, flags)
	q = append(q, make([]byte, 8)...)
	q = append(q, family, unix.IPPROTO_TCP, 0, 0)
	q = e.AppendUint32(q, 1<<tcpListen)
	return slices.Concat(q, make([]byte, diagRequest-8))
}

// addDiag takes the sockets out of one datagram of netlink messages, and reports whether it was the last.
func addDiag(ports map[uint64]int, data []byte) (done bool, err error) {
	return answers(data, interrupted, diagMessage, func(body []byte) error {
		ports[uint64(binary.NativeEndian.Uint32(body[diagInodeAt:]))] = int(binary.BigEndian.Uint16(body[diagPortAt:]))
		return nil
	})
}

// answers gives the body of each socket's message in one datagram, and reports whether it was the last. A message with one of the refused
// flags is an error, and so is a body shorter than least bytes.
func answers(data []byte, refused uint16, least int, each func(body []byte) error) (done bool, err error) {
	e := binary.NativeEndian
	for len(data) >= unix.SizeofNlMsghdr {
		size, kind, flags := int(e.Uint32(data)), e.Uint16(data[4:]), e.Uint16(data[6:])
		if size < unix.SizeofNlMsghdr || size > len(data) {
			return false, unix.EBADMSG
		}
		body := data[unix.SizeofNlMsghdr:size]
		data = data[min((size+3)&^3, len(data)):]
		switch {
		case flags&refused != 0:
			return false, errInterrupted
		case kind == unix.NLMSG_DONE:
			return true, nil
		case kind == unix.NLMSG_ERROR && len(body) >= 4:
			return false, unix.Errno(-int32(e.Uint32(body)))
		case kind != unix.SOCK_DIAG_BY_FAMILY || len(body) < least:
			return false, unix.EBADMSG
		}
		if err := each(body); err != nil {
			return false, err
		}
	}
	return false, nil
}
