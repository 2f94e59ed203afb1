package processes

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

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
