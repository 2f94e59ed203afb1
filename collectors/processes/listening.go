package processes

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strconv"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"winnow/internal/proc"
)

// listeners are the TCP ports and the names of unix sockets listened on in one network namespace, by socket inode. A nil map says that
// they are unknown.
type listeners struct {
	ports map[uint64]int
	names map[uint64]string
	// open counts the TCP connections by their port on this side; nil is unknown.
	open map[int]int
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
		open:  sockets(r, log, "open tcp", diagnoseOpen, openTable),
	}
}

// sockets are the listening ones of a kind, or nil.
func sockets[K comparable, T any](r *root, log hclog.Logger, kind string, ask func() (map[K]T, error), table func(*root) (map[K]T, error)) map[K]T {
	if r.procfs {
		found, err := ask()
		if err == nil {
			return found
		}
		log.Debug("socket diagnosis not available, reading the tables", "kind", kind, "error", err)
	}
	found, err := table(r)
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
	text, err := proc.Readlink(dir, name, make([]byte, 64))
	if err != nil {
		return ""
	}
	return string(text)
}

// listening are the ports and the names of unix sockets that a pinned process listens on. Unknown are those of one that hides its
// descriptors or lives in another network namespace, whose sockets were not asked for.
func (s *scan) listening(dir int, st proc.Stat) (*[]int, *[]string) {
	l := s.listeners
	if l.ports == nil && l.names == nil {
		return nil, nil
	}
	if st.Gone() {
		return l.of(nil, nil)
	}
	ns, err := proc.Readlink(dir, "ns/net", s.link)
	if string(ns) != l.netns || err != nil && (s.root.procfs || !errors.Is(err, unix.ENOENT)) {
		return nil, nil
	}
	if len(l.ports)+len(l.names) == 0 { // no process listens
		return l.of(nil, nil)
	}
	numbers, err := proc.List(dir, "fd", s.environ)
	if err != nil {
		return nil, nil
	}
	var ports []int
	var names []string
	for _, fd := range numbers {
		text, err := proc.Readlink(dir, "fd/"+strconv.Itoa(fd), s.link)
		if err != nil {
			if proc.Ended(err) {
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

// tables reads which sockets listen, and on which port.
func tables(r *root) (map[uint64]int, error) {
	ports := map[uint64]int{}
	err := eachTCP(r, func(s socketLine) {
		if s.state == stateListen {
			ports[s.inode] = s.port
		}
	})
	return ports, err
}

// openTable counts the open connections by their port on this side.
func openTable(r *root) (map[int]int, error) {
	open := map[int]int{}
	err := eachTCP(r, func(s socketLine) {
		if openStates&(1<<s.state) != 0 {
			open[s.port]++
		}
	})
	return open, err
}

// clients counts the connections that are open to ports; nil where that is not known.
func (l listeners) clients(ports *[]int) *int {
	if ports == nil || l.open == nil {
		return nil
	}
	n := 0
	for _, port := range *ports {
		n += l.open[port]
	}
	return &n
}

// socketLine is a line of net/tcp.
type socketLine struct {
	state uint64
	inode uint64
	port  int
}

// eachTCP reads net/tcp and net/tcp6. A kernel without IPv6 has no tcp6.
func eachTCP(r *root, each func(socketLine)) error {
	p, err := procfs.NewFS(r.path)
	if err != nil {
		return err
	}
	//lint:ignore SA1019 netlink, which is named instead, asks the running kernel: it cannot read the tables below another root
	four, err := p.NetTCP()
	if err != nil {
		return err
	}
	//lint:ignore SA1019 as above
	six, err := p.NetTCP6()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, all := range []procfs.NetTCP{four, six} {
		for _, socket := range all {
			each(socketLine{socket.St, socket.Inode, int(socket.LocalPort)})
		}
	}
	return nil
}
