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

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/proc"
)

// listeners are the TCP ports and the names of unix sockets listened on in one network namespace, by socket inode. A nil map says that
// they are unknown.
type listeners struct {
	ports map[uint64]int
	names map[uint64]string
	// open counts the TCP connections by their port on this side; nil is unknown.
	open map[int]int
	// connected are the TCP sockets in any state that is asked about: what is none of these and no unix socket has connections that are not seen.
	connected map[uint64]bool
	// unix are all unix sockets; nil is unknown.
	unix map[uint64]unixState
	// peers counts the connections to unix sockets by the name that they were made to.
	peers map[string]int
	// netns is the text of the ns/net link that they belong to.
	netns string
}

// listen asks once for all listening sockets of this network namespace: the kernel's socket diagnosis where it answers, the
// tables under net otherwise. A fixture has its tables only.
func listen(r *root, log hclog.Logger) listeners {
	l := listeners{netns: ownLink(r, "net"), unix: sockets(r, log, "unix", diagnoseAllUnix, unixTable)}
	l.addTCP(sockets(r, log, "tcp", diagnoseTCP, tcpTable))
	l.addUnix()
	return l
}

// addTCP sorts TCP sockets into those that listen and those that are connected. A connection that waits to be accepted has no inode.
func (l *listeners) addTCP(all map[tcpSocket]int) {
	if all == nil {
		return
	}
	l.ports, l.open, l.connected = map[uint64]int{}, map[int]int{}, map[uint64]bool{}
	for s, n := range all {
		if s.inode != 0 {
			l.connected[s.inode] = true
		}
		switch {
		case s.listens:
			l.ports[s.inode] = s.port
		case s.open:
			l.open[s.port] += n
		}
	}
}

// addUnix finds the names that are listened on, and counts who is connected to each.
func (l *listeners) addUnix() {
	if l.unix == nil {
		return
	}
	l.names, l.peers = map[uint64]string{}, map[string]int{}
	for inode, s := range l.unix {
		switch {
		case s.name == "":
		case s.listens:
			l.names[inode] = s.name
		default:
			l.peers[s.name]++
		}
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

// serving is what a process listens on, and how many connections are open there.
type serving struct {
	ports   *[]int
	names   *[]string
	clients *int
}

func (s serving) fill(p *snapshot.Process) {
	p.Listening, p.UnixSockets, p.Clients = s.ports, s.names, s.clients
}

// listening are the ports and the names of unix sockets that a pinned process listens on. Unknown are those of one that hides its
// descriptors or lives in another network namespace, whose sockets were not asked for.
func (s *scan) listening(dir int, st proc.Stat) serving {
	l := s.listeners()
	if l.ports == nil && l.names == nil {
		return serving{}
	}
	if st.Gone() {
		return l.of(nil, nil, false)
	}
	ns, err := proc.Readlink(dir, "ns/net", s.link)
	if string(ns) != l.netns || err != nil && (s.root.procfs || !errors.Is(err, unix.ENOENT)) {
		return serving{}
	}
	if len(l.ports)+len(l.names) == 0 { // no process listens
		return l.of(nil, nil, false)
	}
	fds, numbers, err := proc.OpenList(dir, "fd", s.environ)
	if err != nil {
		return serving{}
	}
	defer func() { _ = unix.Close(fds) }()
	var ports []int
	var names []string
	blind := false
	for _, fd := range numbers {
		text, err := proc.Readlink(fds, strconv.Itoa(fd), s.link)
		if err != nil {
			if proc.Ended(err) {
				continue
			}
			return serving{}
		}
		inode, ok := socket(text)
		if !ok {
			continue
		}
		local, known := l.unix[inode]
		blind = blind || !known && !l.connected[inode] || known && local.datagrams
		if port, ok := l.ports[inode]; ok {
			ports = append(ports, port)
		}
		if name, ok := l.names[inode]; ok {
			names = append(names, name)
		}
	}
	return l.of(ports, names, blind)
}

// of are what was found of a process, each once and sorted, as far as such sockets are known at all.
func (l listeners) of(ports []int, names []string, blind bool) serving {
	s := serving{ports: known(l.ports != nil, ports), names: known(l.names != nil, names)}
	s.clients = l.clients(s.ports, s.names, blind)
	return s
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

// tcpSocket is a TCP socket, or all those of a port that have no inode.
type tcpSocket struct {
	inode         uint64
	port          int
	listens, open bool
}

func newTCP(inode uint64, port int, state uint64) tcpSocket {
	return tcpSocket{inode, port, state == stateListen, state < 32 && openStates&(1<<state) != 0}
}

// tcpTable counts the TCP sockets in the tables under net.
func tcpTable(r *root) (map[tcpSocket]int, error) {
	all := map[tcpSocket]int{}
	err := eachTCP(r, func(s socketLine) { all[newTCP(s.inode, s.port, s.state)]++ })
	return all, err
}

// clients counts the connections that are open to what a process listens on; nil where that is not known. Datagrams come without a
// connection, and blind is whether the process has sockets of which nothing tells who uses them.
func (l listeners) clients(ports *[]int, names *[]string, blind bool) *int {
	if ports == nil || names == nil || l.open == nil || l.peers == nil || blind && len(*ports)+len(*names) > 0 {
		return nil
	}
	n := 0
	for _, port := range *ports {
		n += l.open[port]
	}
	for _, name := range *names {
		n += l.peers[name]
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
