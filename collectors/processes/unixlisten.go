package processes

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"winnow/internal/proc"
)

// The states of a unix socket that is asked for, and its attribute with the name (linux/unix_diag.h). One for datagrams never listens: it
// takes what is sent to its name as soon as it has one.
const (
	unixListening = 10 // TCP_LISTEN
	unixClosed    = 7  // TCP_CLOSE: bound, and to nobody connected
	unixDiagName  = 0
	showName      = 1
	// acceptsConnections is __SO_ACCEPTCON, in the flags of net/unix.
	acceptsConnections = 1 << 16
)

// diagnoseListening asks the kernel for the names of the unix sockets of this network namespace that are listened on, by inode.
func diagnoseListening() (map[uint64]string, error) {
	var err error
	for range tries {
		names := map[uint64]string{}
		err = askDiag(unixQuestion(1<<unixListening|1<<unixClosed, showName), func(data []byte) (bool, error) {
			return unixAttributes(data, interrupted, func(body []byte, name uint16, value []byte) {
				if name != unixDiagName || len(value) == 0 {
					return
				}
				inode := uint64(binary.NativeEndian.Uint32(body[unixDiagInodeAt:]))
				if named := socketName(value); body[2] == unixListening || datagrams(body[1], named) {
					names[inode] = named
				}
			})
		})
		if err == nil {
			return names, nil
		}
		if !errors.Is(err, errInterrupted) {
			break
		}
	}
	return nil, err
}

// socketName is a name as net/unix shows it: the bytes up to the first zero, or for an abstract one @ for each zero.
func socketName(raw []byte) string {
	if raw[0] == 0 {
		return strings.ToValidUTF8(string(bytes.ReplaceAll(raw, []byte{0}, []byte{'@'})), "?")
	}
	path, _, _ := bytes.Cut(raw, []byte{0})
	return strings.ToValidUTF8(string(path), "?")
}

// datagrams is true for a socket that takes datagrams at a path. An abstract name is most often one that the kernel gave to who sends.
func datagrams(kind uint8, name string) bool {
	return kind == unix.SOCK_DGRAM && name != "" && name[0] != '@'
}

// unixTable reads net/unix.
func unixTable(r *root) (map[uint64]string, error) {
	text, err := proc.Read(r.fd, "net/unix", make([]byte, 64<<10), tableLimit)
	if err != nil {
		return nil, err
	}
	names := map[uint64]string{}
	return names, addUnixTable(names, text)
}

var errUnixTable = errors.New("not the text of a unix table")

// addUnixTable takes the sockets that are listened on out of the text of net/unix, see proc_net(5): a heading, then a line a socket with
// flags, type and inode as fields 4, 5 and 7, and the name as the rest of the line.
func addUnixTable(names map[uint64]string, text []byte) error {
	_, text, _ = bytes.Cut(text, []byte("\n"))
	for line := range bytes.Lines(text) {
		rest := bytes.TrimSuffix(line, []byte("\n"))
		if len(rest) == 0 {
			continue
		}
		var fields [7]string
		for i := range fields {
			var field []byte
			field, rest, _ = bytes.Cut(bytes.TrimLeft(rest, " "), []byte(" "))
			fields[i] = string(field)
		}
		flags, errFlags := strconv.ParseUint(fields[3], 16, 64)
		kind, errKind := strconv.ParseUint(fields[4], 16, 8)
		inode, errInode := strconv.ParseUint(fields[6], 10, 64)
		if errors.Join(errFlags, errKind, errInode) != nil {
			return errUnixTable
		}
		if name := strings.ToValidUTF8(string(rest), "?"); name != "" && (flags&acceptsConnections != 0 || datagrams(uint8(kind), name)) {
			names[inode] = name
		}
	}
	return nil
}
