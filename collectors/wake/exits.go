package wake

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Exit is the source of Exits.
const Exit = "exit"

// ErrUnavailable says that this machine, or this user, does not have a source of events. It is not tried again.
var ErrUnavailable = errors.New("it is not available here")

// The numbers of the kernel's include/uapi/linux/connector.h and cn_proc.h, and where a message has what: struct nlmsghdr, struct cn_msg, struct proc_event.
const (
	cnIdxProc, cnValProc = 1, 1
	mcastListen          = 1
	mcastIgnore          = 2
	eventNone            = 0
	eventExit            = 0x80000000

	atIdx    = unix.SizeofNlMsghdr
	atVal    = atIdx + 4
	atWhat   = atIdx + 20
	atData   = atWhat + 16
	atPID    = atData
	atTGID   = atData + 4
	leastLen = atTGID + 4
)

const (
	// bufferSize is how much the kernel keeps for us, in bytes: some 1,300 exits.
	bufferSize = 1 << 20
	// batch is how many messages are read in one go, and between how long the reader rests after one, however many processes end.
	batch   = 2048
	between = 50 * time.Millisecond
	// acked is how long the kernel has for its answer: it gives none to who may not listen.
	acked = 2 * time.Second
)

// Exits hears from the kernel of the end of any process of a set, of any size (connector, CN_IDX_PROC). Only the first namespaces of a machine have it, and older kernels
// give it to CAP_NET_ADMIN alone. A filter within the kernel lets the ends of processes through; forks, programs that start and threads wake no daemon.
type Exits struct {
	wake   func(source string)
	buffer int

	mu    sync.Mutex
	known map[int]bool
}

// NewExits makes one that hears nothing before Run.
func NewExits(wake func(source string)) *Exits { return &Exits{wake: wake, buffer: bufferSize} }

// Set makes these the processes whose end matters. A pid that has become another process's may wake once too often.
func (x *Exits) Set(ts []Target) {
	known := make(map[int]bool, len(ts))
	for _, t := range ts {
		if t.PID > 0 {
			known[t.PID] = true
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.known = known
}

// Run listens until ctx ends, and then gives its error. listening is called once the kernel has agreed. It wraps ErrUnavailable where the kernel does not.
func (x *Exits) Run(ctx context.Context, listening func()) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_CONNECTOR)
	if err != nil {
		return unavailable("socket", err)
	}
	file := os.NewFile(uintptr(fd), "connector")
	defer func() { _ = file.Close() }()
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: cnIdxProc}); err != nil {
		return unavailable("bind", err)
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, x.buffer) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, x.buffer)
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	program := exitFilter() // where the kernel takes no filter, all comes here, and is dropped here
	_ = unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
	if err := unix.Sendto(fd, operation(mcastListen), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return unavailable("sendto", err)
	}
	// Kernels before 6.6 go on making messages for a listener that has closed.
	defer func() { _ = unix.Sendto(fd, operation(mcastIgnore), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) }()
	defer context.AfterFunc(ctx, func() { _ = file.SetReadDeadline(time.Unix(1, 0)) })()
	_ = file.SetReadDeadline(time.Now().Add(acked))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	agreed := false
	buf := make([]byte, 4096)
	rest := time.NewTimer(0)
	defer rest.Stop()
	for {
		heard := false
		n, err := receive(conn, buf, func(message []byte, from uint32) {
			what, pid, ok := parseExit(message, from)
			switch {
			case !ok:
			case what == eventNone:
				agreed = true
			case x.ended(pid):
				heard = true
			}
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, os.ErrDeadlineExceeded) && !agreed:
			return fmt.Errorf("%w: the kernel does not answer; only the first pid and user namespace of a machine may listen", ErrUnavailable)
		case errors.Is(err, unix.ENOBUFS): // some were lost, and it is not known whose
			heard = true
		case err != nil:
			return os.NewSyscallError("recvfrom", err)
		}
		if agreed && listening != nil {
			_ = file.SetReadDeadline(time.Time{})
			if ctx.Err() != nil { // it may have come in between
				return ctx.Err()
			}
			listening()
			listening = nil
		}
		if heard {
			x.wake(Exit)
		}
		if (n > 0 || heard) && listening == nil {
			rest.Reset(between)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-rest.C:
			}
		}
	}
}

// unavailable is an error of a system call by which the kernel says no for good, but for what may pass: too many files, too little memory.
func unavailable(call string, err error) error {
	for _, passing := range []error{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.ENOBUFS, unix.EAGAIN, unix.EINTR} {
		if errors.Is(err, passing) {
			return os.NewSyscallError(call, err)
		}
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, os.NewSyscallError(call, err))
}

// receive waits for messages and gives those that are there, at most a batch.
func receive(conn syscall.RawConn, buf []byte, each func(message []byte, from uint32)) (n int, err error) {
	outer := conn.Read(func(fd uintptr) (done bool) {
		for ; n < batch; n++ {
			size, from, e := unix.Recvfrom(int(fd), buf, unix.MSG_DONTWAIT)
			switch {
			case errors.Is(e, unix.EINTR):
				n--
				continue
			case errors.Is(e, unix.EAGAIN):
				return n > 0
			case e != nil:
				err = e
				return true
			}
			if nl, ok := from.(*unix.SockaddrNetlink); ok {
				each(buf[:size], nl.Pid)
			}
		}
		return true
	})
	if err == nil {
		err = outer
	}
	return n, err
}

// ended reports whether a process matters that has ended, once.
func (x *Exits) ended(pid int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	known := x.known[pid]
	delete(x.known, pid)
	return known
}

// operation is a message that begins or ends listening.
func operation(op uint32) []byte {
	var b []byte
	b = binary.NativeEndian.AppendUint32(b, atWhat+4)
	b = binary.NativeEndian.AppendUint16(b, unix.NLMSG_DONE)
	b = append(b, make([]byte, 2+4+4)...) // flags, sequence, port
	b = binary.NativeEndian.AppendUint32(b, cnIdxProc)
	b = binary.NativeEndian.AppendUint32(b, cnValProc)
	b = append(b, make([]byte, 4+4)...) // sequence, acknowledgement
	b = binary.NativeEndian.AppendUint16(b, 4)
	b = append(b, 0, 0) // flags
	return binary.NativeEndian.AppendUint32(b, op)
}

// parseExit gives the process that has ended, or the kernel's agreement to an operation: eventNone. ok is false for all else: another sender than the kernel, which is port 0, a
// thread, another event, an operation that it refuses.
func parseExit(message []byte, from uint32) (what uint32, pid int, ok bool) {
	if from != 0 || len(message) < leastLen {
		return 0, 0, false
	}
	at := func(offset int) uint32 { return binary.NativeEndian.Uint32(message[offset:]) }
	if at(atIdx) != cnIdxProc || at(atVal) != cnValProc {
		return 0, 0, false
	}
	switch what = at(atWhat); what {
	case eventNone:
		return what, 0, at(atData) == 0
	case eventExit:
		return what, int(int32(at(atPID))), at(atPID) == at(atTGID)
	}
	return what, 0, false
}

// exitFilter is a socket filter (cBPF) that lets through the kernel's agreement, and the ends of processes.
func exitFilter() []unix.SockFilter {
	// The filter reads numbers in network order; the kernel writes them in its own.
	word := func(v uint32) uint32 {
		return binary.BigEndian.Uint32(binary.NativeEndian.AppendUint32(nil, v))
	}
	const load, equals, gives = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ, unix.BPF_RET | unix.BPF_K
	return []unix.SockFilter{
		{Code: load, K: atWhat},
		{Code: equals | unix.BPF_K, K: word(eventNone), Jt: 5},
		{Code: equals | unix.BPF_K, K: word(eventExit), Jf: 5},
		{Code: load, K: atTGID},
		{Code: unix.BPF_MISC | unix.BPF_TAX},
		{Code: load, K: atPID},
		{Code: equals | unix.BPF_X, Jf: 1}, // the end of a thread
		{Code: gives, K: 0xffff},
		{Code: gives, K: 0},
	}
}
