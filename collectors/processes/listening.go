package processes

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"
)

// listeners are the TCP ports listened on in one network namespace, by socket inode. A nil map says that they are unknown.
type listeners struct {
	ports map[uint64]int
	// netns is the text of the ns/net link that they belong to.
	netns string
}

// listen asks once for all listening sockets of this network namespace: the kernel's socket diagnosis where it answers, the
// tables under net otherwise. A fixture has its tables only.
func listen(r *root, log hclog.Logger) listeners {
	l := listeners{netns: ownLink(r, "net")}
	if r.procfs {
		ports, err := diagnose()
		if err == nil {
			l.ports = ports
			return l
		}
		log.Debug("socket diagnosis not available, reading the tables", "error", err)
	}
	ports, err := tables(r)
	if err != nil {
		log.Debug("listening ports unknown", "error", err)
		return l
	}
	l.ports = ports
	return l
}

// ownLink names a namespace of this process.
func ownLink(r *root, kind string) string {
	dir, name := r.fd, "self/ns/"+kind
	if r.procfs {
		dir, name = unix.AT_FDCWD, "/proc/self/ns/"+kind
	}
	text, err := readlink(dir, name, make([]byte, 64))
	if err != nil {
		return ""
	}
	return string(text)
}

// ports are those that a pinned process listens on. Unknown are those of one that hides its descriptors or lives in another
// network namespace, whose sockets were not asked for.
func (s *scan) ports(dir int, st stat) *[]int {
	l := s.listeners
	if l.ports == nil {
		return nil
	}
	if st.gone() {
		return &[]int{}
	}
	ns, err := readlink(dir, "ns/net", s.link)
	if string(ns) != l.netns || err != nil && (s.root.procfs || !errors.Is(err, unix.ENOENT)) {
		return nil
	}
	if len(l.ports) == 0 { // nobody listens, whatever this one has open
		return &[]int{}
	}
	numbers, err := list(dir, "fd", s.environ)
	if err != nil {
		return nil
	}
	found := []int{}
	for _, fd := range numbers {
		text, err := readlink(dir, "fd/"+strconv.Itoa(fd), s.link)
		if err != nil {
			if vanished(err) {
				continue
			}
			return nil
		}
		if inode, ok := socket(text); ok {
			if port, ok := l.ports[inode]; ok {
				found = append(found, port)
			}
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	return &found
}

// socket takes the inode out of a descriptor's link such as socket:[4711].
func socket(text []byte) (uint64, bool) {
	text, ok := bytes.CutPrefix(text, []byte("socket:["))
	if !ok {
		return 0, false
	}
	text, ok = bytes.CutSuffix(text, []byte("]"))
	if !ok {
		return 0, false
	}
	inode, err := strconv.ParseUint(string(text), 10, 64)
	return inode, err == nil
}

// tableLimit is more than the table of any machine that this is meant for.
const tableLimit = 256 << 20

// tables reads net/tcp and net/tcp6. A kernel without IPv6 has no tcp6.
func tables(r *root) (map[uint64]int, error) {
	ports := map[uint64]int{}
	for _, name := range []string{"net/tcp", "net/tcp6"} {
		text, err := read(r.fd, name, make([]byte, 64<<10), tableLimit)
		if name == "net/tcp6" && errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := addTable(ports, text); err != nil {
			return nil, err
		}
	}
	return ports, nil
}

var errTable = errors.New("not the text of a tcp table")

// addTable takes the listening sockets out of the text of /proc/net/tcp or tcp6: a heading, then a line a socket with local
// address:port in hexadecimal, state (0A listens) and inode as fields 2, 4 and 10.
func addTable(ports map[uint64]int, text []byte) error {
	_, text, _ = bytes.Cut(text, []byte("\n"))
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) < 10 {
			return errTable
		}
		if string(f[3]) != "0A" {
			continue
		}
		_, local, _ := bytes.Cut(f[1], []byte(":"))
		var port [2]byte
		if len(local) != 4 {
			return errTable
		}
		if _, err := hex.Decode(port[:], local); err != nil {
			return errTable
		}
		inode, err := strconv.ParseUint(string(f[9]), 10, 64)
		if err != nil {
			return errTable
		}
		ports[inode] = int(binary.BigEndian.Uint16(port[:]))
	}
	return nil
}
