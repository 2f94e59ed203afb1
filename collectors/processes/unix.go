package processes

import (
	"bytes"
	"encoding/binary"
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"winnow/engine/snapshot"
	"winnow/internal/proc"
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
	if text, err := proc.Read(dir, "net/unix", make([]byte, 16<<10), tableLimit); err == nil {
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
	bound := map[uint32][]boundSocket{}
	const everyState = 1<<32 - 1
	err := askDiag(unixQuestion(everyState, showVFS), func(data []byte) (bool, error) { return addUnixDiag(bound, data) })
	if err != nil && len(bound) == 0 {
		return nil, err
	}
	return bound, err
}

func unixQuestion(states, show uint32) []byte {
	e := binary.NativeEndian
	q := e.AppendUint32(nil, unix.SizeofNlMsghdr+24)
	q = e.AppendUint16(q, unix.SOCK_DIAG_BY_FAMILY)
	q = e.AppendUint16(q, unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	q = append(q, make([]byte, 8)...)
	q = append(q, unix.AF_UNIX, 0, 0, 0)
	q = e.AppendUint32(q, states)
	q = e.AppendUint32(q, 0)
	q = e.AppendUint32(q, show)
	return append(q, make([]byte, 8)...)
}

// addUnixDiag takes the bound sockets out of one datagram of netlink messages, and reports whether it was the last.
func addUnixDiag(bound map[uint32][]boundSocket, data []byte) (done bool, err error) {
	e := binary.NativeEndian
	return unixAttributes(data, 0, func(body []byte, name uint16, value []byte) {
		if name == unixDiagVFS && len(value) >= 8 {
			ino, dev := e.Uint32(value), e.Uint32(value[4:])
			inode := uint64(e.Uint32(body[unixDiagInodeAt:]))
			bound[ino] = append(bound[ino], boundSocket{inode, unix.Mkdev(dev>>20, dev&(1<<20-1))})
		}
	})
}

// unixAttributes gives each attribute of each socket in one datagram of netlink messages, and reports whether it was the last. A message
// with one of the refused flags is an error.
func unixAttributes(data []byte, refused uint16, each func(body []byte, name uint16, value []byte)) (done bool, err error) {
	return answers(data, refused, unixDiagMessage, func(body []byte) error {
		for attr := body[unixDiagMessage:]; len(attr) >= 4; {
			length := int(binary.NativeEndian.Uint16(attr))
			if length < 4 || length > len(attr) {
				return unix.EBADMSG
			}
			each(body, binary.NativeEndian.Uint16(attr[2:]), attr[4:length])
			attr = attr[min((length+3)&^3, len(attr)):]
		}
		return nil
	})
}
