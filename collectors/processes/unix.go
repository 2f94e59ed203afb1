package processes

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"winnow/engine/snapshot"
)

// boundSocket is a unix socket and the device of what it is bound to.
type boundSocket struct {
	inode uint64
	dev   uint64
}

// readSockets reads the unix sockets of this network namespace that are bound, by the name they were bound with, in one of the folders.
func (h *holderScan) readSockets(m *machine) error {
	text, err := h.table("net/unix")
	if err != nil {
		return err
	}
	m.addSockets(text, h.views[h.own])
	return nil
}

// addSockets takes bound sockets out of the text of a net/unix file, see proc_net(5): the inode is the 7th field, the rest is the
// name, which stands as it was given.
func (m *machine) addSockets(text []byte, v *places) {
	for line := range bytes.Lines(text) {
		var fields [7][]byte
		rest := bytes.TrimSuffix(line, []byte("\n"))
		for i := range fields {
			fields[i], rest, _ = bytes.Cut(bytes.TrimLeft(rest, " "), []byte(" "))
		}
		if len(rest) == 0 || rest[0] == '@' {
			continue
		}
		inode, err := strconv.ParseUint(string(fields[6]), 10, 64)
		if err != nil || inode == 0 {
			continue
		}
		if rest[0] != '/' {
			m.relative[inode] = string(rest)
			continue
		}
		v.visit(path.Clean(string(rest)), func(numbers []int) { m.sockets[inode] = append(m.sockets[inode], numbers...) })
	}
}

// noteSocket marks where a socket that the process at hand has is bound.
func (h *holderScan) noteSocket(v *places, inode uint64) {
	numbers, named := h.machine.sockets[inode]
	h.mark(numbers, bySocket)
	if name, ok := h.machine.relative[inode]; ok && h.at.cwd != "" {
		v.visit(path.Clean(h.at.cwd+"/"+name), func(numbers []int) { h.mark(numbers, bySocket) })
	}
	if named || h.machine.bound != nil {
		h.seen.owners[inode] = h.at
	}
}

// otherSockets reads the unix sockets of another network namespace, once. The file that lists them has one inode a namespace.
func (h *holderScan) otherSockets(dir int, v *places) {
	var st, own unix.Stat_t
	if unix.Fstatat(dir, "net/unix", &st, 0) != nil || unix.Fstatat(h.root.fd, "self/net/unix", &own, 0) != nil || st.Ino == own.Ino {
		return
	}
	if h.seen.nets[st.Ino] {
		return
	}
	h.seen.nets[st.Ino] = true
	if text, err := read(dir, "net/unix", make([]byte, 16<<10), tableLimit); err == nil {
		h.machine.addSockets(text, v)
	}
}

// unclaimed adds the sockets that are bound in a folder and that no process showed: they live, so somebody has them.
func (h *holderScan) unclaimed() {
	for inode, numbers := range h.machine.sockets {
		if _, ok := h.seen.owners[inode]; ok {
			continue
		}
		for _, i := range numbers {
			h.add(i, snapshot.Holder{Name: "a unix socket", How: hows[bySocket]})
		}
	}
}

// The sizes of struct unix_diag_req and unix_diag_msg, and what is used of them (linux/unix_diag.h).
const (
	unixDiagMessage = 16
	unixDiagInodeAt = 4
	unixDiagVFS     = 1
	showVFS         = 2
)

// diagnoseUnix asks the kernel what the unix sockets of this network namespace are bound to, by inode, see sock_diag(7): a name may be
// relative, or lead through a link.
func diagnoseUnix() (map[uint32][]boundSocket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2}); err != nil {
		return nil, err
	}
	e := binary.NativeEndian
	q := e.AppendUint32(nil, unix.SizeofNlMsghdr+24)
	q = e.AppendUint16(q, unix.SOCK_DIAG_BY_FAMILY)
	q = e.AppendUint16(q, unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	q = append(q, make([]byte, 8)...)
	q = append(q, unix.AF_UNIX, 0, 0, 0)
	q = e.AppendUint32(q, 1<<32-1) // every state
	q = e.AppendUint32(q, 0)
	q = e.AppendUint32(q, showVFS)
	q = append(q, make([]byte, 8)...)
	if err := unix.Sendto(fd, q, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	bound := map[uint32][]boundSocket{}
	buf := make([]byte, 64<<10)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if done, err := addUnixDiag(bound, buf[:n]); done || err != nil {
			return bound, err
		}
	}
}

// addUnixDiag takes the bound sockets out of one datagram of netlink messages, and reports whether it was the last.
func addUnixDiag(bound map[uint32][]boundSocket, data []byte) (done bool, err error) {
	e := binary.NativeEndian
	for len(data) >= unix.SizeofNlMsghdr {
		size, kind := int(e.Uint32(data)), e.Uint16(data[4:])
		if size < unix.SizeofNlMsghdr || size > len(data) {
			return false, unix.EBADMSG
		}
		body := data[unix.SizeofNlMsghdr:size]
		data = data[min((size+3)&^3, len(data)):]
		switch {
		case kind == unix.NLMSG_DONE:
			return true, nil
		case kind == unix.NLMSG_ERROR && len(body) >= 4:
			return false, unix.Errno(-int32(e.Uint32(body)))
		case kind != unix.SOCK_DIAG_BY_FAMILY || len(body) < unixDiagMessage:
			return false, unix.EBADMSG
		}
		inode := uint64(e.Uint32(body[unixDiagInodeAt:]))
		for attr := body[unixDiagMessage:]; len(attr) >= 4; {
			length, name := int(e.Uint16(attr)), e.Uint16(attr[2:])
			if length < 4 || length > len(attr) {
				return false, unix.EBADMSG
			}
			if name == unixDiagVFS && length >= 12 {
				ino, dev := e.Uint32(attr[4:]), e.Uint32(attr[8:])
				bound[ino] = append(bound[ino], boundSocket{inode, unix.Mkdev(dev>>20, dev&(1<<20-1))})
			}
			attr = attr[min((length+3)&^3, len(attr)):]
		}
	}
	return false, nil
}
