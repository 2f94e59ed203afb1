package processes

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"
)

// listeners are the TCP ports and the names of unix sockets listened on in one network namespace, by socket inode. A nil map says that
// they are unknown.
type listeners struct {
	ports map[uint64]int
	names map[uint64]string
	// netns is the text of the ns/net link that they belong to.
	netns string
}

// listen asks once for all listening sockets of this network namespace: the kernel's socket diagnosis where it answers, the
// tables under net otherwise. A fixture has its tables only.
func listen(r *root, log hclog.Logger) listeners {
	return listeners{
		netns: ownLink(r, "net"),
		ports: sockets(r, log, "tcp", diagnose, tables),
		names: sockets(r, log, "unix", diagnoseListening, unixTable),
	}
}

// sockets are the listening ones of a kind, or nil.
func sockets[T any](r *root, log hclog.Logger, kind string, ask func() (map[uint64]T, error), read func(*root) (map[uint64]T, error)) map[uint64]T {
	if r.procfs {
		found, err := ask()
		if err == nil {
			return found
		}
		log.Debug("socket diagnosis not available, reading the tables", "kind", kind, "error", err)
	}
	found, err := read(r)
	if err != nil {
		log.Debug("listening sockets unknown", "kind", kind, "error", err)
		return nil
	}
	return found
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

// listening are the ports and the names of unix sockets that a pinned process listens on. Unknown are those of one that hides its
// descriptors or lives in another network namespace, whose sockets were not asked for.
func (s *scan) listening(dir int, st stat) (*[]int, *[]string) {
	l := s.listeners
	if l.ports == nil && l.names == nil {
		return nil, nil
	}
	if st.gone() {
		return l.of(nil, nil)
	}
	ns, err := readlink(dir, "ns/net", s.link)
	if string(ns) != l.netns || err != nil && (s.root.procfs || !errors.Is(err, unix.ENOENT)) {
		return nil, nil
	}
	if len(l.ports)+len(l.names) == 0 { // nobody listens, whatever this one has open
		return l.of(nil, nil)
	}
	numbers, err := list(dir, "fd", s.environ)
	if err != nil {
		return nil, nil
	}
	var ports []int
	var names []string
	for _, fd := range numbers {
		text, err := readlink(dir, "fd/"+strconv.Itoa(fd), s.link)
		if err != nil {
			if vanished(err) {
				continue
			}
			return nil, nil
		}
		inode, ok := socket(text)
		if !ok {
			continue
		}
		if port, ok := l.ports[inode]; ok {
			ports = append(ports, port)
		}
		if name, ok := l.names[inode]; ok {
			names = append(names, name)
		}
	}
	return l.of(ports, names)
}

// of are what was found of a process, each once and sorted, as far as such sockets are known at all.
func (l listeners) of(ports []int, names []string) (*[]int, *[]string) {
	return known(l.ports != nil, ports), known(l.names != nil, names)
}

func known[T cmp.Ordered](is bool, found []T) *[]T {
	if !is {
		return nil
	}
	slices.Sort(found)
	all := append([]T{}, slices.Compact(found)...)
	return &all
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
