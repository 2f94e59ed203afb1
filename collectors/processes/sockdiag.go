package processes

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
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

// BoundSocket is a unix socket and the device of what it is bound to.
type BoundSocket struct {
	Inode uint64
	Dev   uint64
}

// UnixSocket is a line of net/unix, see proc_net(5). The name is the one that was bound, with "@" in front of an abstract one.
type UnixSocket struct {
	flags, kind, Inode uint64
	Name               []byte
}

// UnixSockets reads the text of net/unix: flags, type and inode are the fields 4, 5 and 7 of a line, the name is the rest. It gives false for
// a line that is not understood, such as the heading.
func UnixSockets(text []byte) iter.Seq2[UnixSocket, bool] {
	return func(yield func(UnixSocket, bool) bool) {
		for line := range bytes.Lines(text) {
			var fields [7][]byte
			rest := bytes.TrimSuffix(line, []byte("\n"))
			for i := range fields {
				fields[i], rest, _ = bytes.Cut(bytes.TrimLeft(rest, " "), []byte(" "))
			}
			flags, errFlags := strconv.ParseUint(string(fields[3]), 16, 64)
			kind, errKind := strconv.ParseUint(string(fields[4]), 16, 8)
			inode, errInode := strconv.ParseUint(string(fields[6]), 10, 64)
			if !yield(UnixSocket{flags, kind, inode, rest}, errFlags == nil && errKind == nil && errInode == nil) {
				return
			}
		}
	}
}

// BoundSockets asks the kernel what the unix sockets of this network namespace are bound to, by inode: a name may be relative, or lead
// through a link.
func BoundSockets() (map[uint32][]BoundSocket, error) {
	bound := map[uint32][]BoundSocket{}
	const everyState = 1<<32 - 1
	about := aboutUnix(everyState, showVFS, false)
	if err := about.ask(about.attributes(addBound(bound))); err != nil && len(bound) == 0 {
		return nil, err
	}
	return bound, nil
}

func addBound(bound map[uint32][]BoundSocket) func(body []byte, name uint16, value []byte) {
	return func(body []byte, name uint16, value []byte) {
		if e := binary.NativeEndian; name == unixVFS && len(value) >= 8 {
			ino, dev := e.Uint32(value), e.Uint32(value[4:])
			bound[ino] = append(bound[ino], BoundSocket{uint64(e.Uint32(body[unixInodeAt:])), unix.Mkdev(dev>>20, dev&(1<<20-1))})
		}
	}
}

// unixState is a unix socket.
type unixState struct {
	// name is the one that it is bound to, or of an accepted one that of the socket which accepted it.
	name string
	// listens is true for one that accepts connections, and for one that takes datagrams at a path.
	listens, datagrams bool
	// ended is true where nothing can be read any more: the other end was closed, and all was read. Asked is whether that was asked.
	ended, asked bool
	// unheard is true where no process can read any more what is written, and connected while the other end is open, or waits to be accepted. Peer is the inode
	// of the other end, 0 where that was closed and while it waits.
	unheard, connected bool
	peer               uint64
	waiting            int // how many wait to be accepted: most kernels do not tell of their sockets
}

// diagnoseAllUnix asks the kernel for the unix sockets of this network namespace, by inode.
func diagnoseAllUnix() (map[uint64]unixState, error) {
	about := aboutUnix(1<<32-1, showName|showPeer|showQueue, true)
	return askTwice(func(all map[uint64]unixState) error {
		return about.ask(func(body []byte) error {
			var name string
			var queued, peer uint32
			var shut uint8
			var toldQueue, toldShut, toldPeer bool
			err := about.attributes(func(_ []byte, attribute uint16, value []byte) {
				switch {
				case attribute == unixName && len(value) > 0:
					name = socketName(value)
				case attribute == unixQueue && len(value) >= 8:
					queued, toldQueue = binary.NativeEndian.Uint32(value), true
				case attribute == unixPeer && len(value) >= 4:
					peer, toldPeer = binary.NativeEndian.Uint32(value), true
				case attribute == unixShutdown && len(value) > 0:
					shut, toldShut = value[0], true
				}
			})(body)
			s := newUnix(uint64(body[unixKindAt]), name, body[unixStateAt] == stateListen)
			s.asked, s.ended = toldQueue && toldShut, toldQueue && shut&1 != 0 && queued == 0
			if s.listens && !s.datagrams {
				s.waiting = int(queued)
			}
			s.unheard, s.peer, s.connected = shut&2 != 0, uint64(peer), toldPeer && (peer != 0 || shut&1 == 0)
			addUnixState(all, uint64(binary.NativeEndian.Uint32(body[unixInodeAt:])), s)
			return err
		})
	})
}

func newUnix(kind uint64, name string, accepts bool) unixState {
	return unixState{name: name, listens: name != "" && (accepts || datagrams(kind, name)), datagrams: kind == unix.SOCK_DGRAM}
}

// addUnixState adds a socket. Those without an inode wait in the queue of the one whose name they have: they are told apart by
// numbers that no inode has.
func addUnixState(all map[uint64]unixState, inode uint64, s unixState) {
	if inode == 0 {
		inode = 1<<63 + uint64(len(all))
	}
	all[inode] = s
}

// socketName is a name as net/unix shows it: the bytes up to the first zero, or for an abstract one @ for each zero.
func socketName(raw []byte) string {
	if raw[0] == 0 {
		raw = bytes.ReplaceAll(raw, []byte{0}, []byte{'@'})
	}
	name, _, _ := bytes.Cut(raw, []byte{0})
	return strings.ToValidUTF8(string(name), "?")
}

// datagrams is true for a socket that takes datagrams at a name, but for one that the kernel gave to a sender.
func datagrams(kind uint64, name string) bool {
	return kind == unix.SOCK_DGRAM && name != "" && !autobound(name)
}

// autobound is true for an abstract name of five hexadecimal digits, as unix(7) says the kernel gives them.
func autobound(name string) bool {
	digits, abstract := strings.CutPrefix(name, "@")
	_, err := strconv.ParseUint(digits, 16, 20)
	return abstract && len(digits) == 5 && err == nil
}

var errUnixTable = errors.New("not the text of a unix table")

// unixTable reads in net/unix what diagnoseAllUnix asks for, but for what can be read no more.
func unixTable(r *host.Root) (map[uint64]unixState, error) {
	text, err := proc.Read(r.FD, "net/unix", make([]byte, 64<<10), proc.MaxTable)
	if err != nil {
		return nil, err
	}
	const acceptsConnections = 1 << 16 // __SO_ACCEPTCON
	_, text, _ = bytes.Cut(text, []byte("\n"))
	all := map[uint64]unixState{}
	for s, ok := range UnixSockets(text) {
		if !ok {
			return nil, errUnixTable
		}
		addUnixState(all, s.Inode, newUnix(s.kind, strings.ToValidUTF8(string(s.Name), "?"), s.flags&acceptsConnections != 0))
	}
	return all, nil
}
