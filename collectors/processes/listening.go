package processes

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"net/netip"
	"slices"
	"strconv"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// listeners are the TCP ports and the names of unix sockets listened on in one network namespace, by socket inode. A nil map says that
// they are unknown.
type listeners struct {
	ports map[uint64]int
	names map[uint64]string
	// open counts the TCP connections by their port on this side; nil is unknown.
	open map[int]int
	// tcp are the TCP sockets in any state that is asked about: the connections of any other socket that is no unix socket are not seen.
	tcp map[uint64]tcpSocket
	// ends are the open TCP sockets by the addresses of both their ends.
	ends map[pair]tcpSocket
	// unix are all unix sockets; nil is unknown.
	unix map[uint64]unixState
	// peers counts the connections to unix sockets by the name that they were made to.
	peers map[string]int
	// netns is the text of the ns/net link that they belong to.
	netns string
}

// listen asks once for all listening sockets of this network namespace: the kernel's socket diagnosis where it answers, the
// tables under net otherwise. A fixture has its tables only.
func listen(r *host.Root, log hclog.Logger) listeners {
	l := listeners{netns: r.Namespace("net"), unix: sockets(r, log, "unix", diagnoseAllUnix, unixTable)}
	l.addTCP(sockets(r, log, "tcp", diagnoseTCP, tcpTable))
	l.addUnix()
	return l
}

// addTCP sorts TCP sockets into those that listen and those that are connected. A connection that waits to be accepted has no inode.
func (l *listeners) addTCP(all map[tcpSocket]int) {
	if all == nil {
		return
	}
	l.ports, l.open, l.tcp, l.ends = map[uint64]int{}, map[int]int{}, map[uint64]tcpSocket{}, map[pair]tcpSocket{}
	for s, n := range all {
		if s.inode != 0 {
			l.tcp[s.inode] = s
		}
		switch port := int(s.local.Port()); {
		case s.state == stateListen:
			l.ports[s.inode] = port
		case s.open():
			l.open[port] += n
			l.ends[s.pair] = s
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
			l.peers[s.name] += s.waiting
		default:
			l.peers[s.name]++
		}
	}
}

// sockets are the listening ones of a kind, or nil.
func sockets[K comparable, T any](r *host.Root, log hclog.Logger, kind string, ask func() (map[K]T, error), table func(*host.Root) (map[K]T, error)) map[K]T {
	if r.Procfs {
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

// opened adds what a pinned process has open: where it listens and how many connections are open there, what it is connected to, and, in a full reading, the
// files that it writes. Unknown are those of one that hides its descriptors or lives in another network namespace, whose sockets were not asked for.
func (s *scan) opened(dir int, st proc.Stat, r *record) {
	l, o := s.listeners(), opened{}
	if !st.Gone() {
		ns, err := proc.Readlink(dir, "ns/net", s.Link)
		if string(ns) != l.netns || err != nil && (s.root.Procfs || !errors.Is(err, unix.ENOENT)) {
			return
		}
		fds, numbers, err := proc.OpenList(dir, "fd", s.Environ)
		if err != nil {
			return
		}
		defer func() { _ = unix.Close(fds) }()
		for _, fd := range numbers {
			if err := s.descriptor(&o, &l, fds, strconv.Itoa(fd), r.depth == full); err != nil && !proc.Ended(err) {
				return
			}
		}
	}
	o.fill(&l, r)
}

// descriptor adds what one descriptor in an open folder of them is.
func (s *scan) descriptor(o *opened, l *listeners, fds int, name string, files bool) error {
	text, err := proc.Readlink(fds, name, s.Link)
	switch {
	case err != nil:
		return err
	case files && bytes.HasPrefix(text, []byte("/")):
		o.file(fds, name)
	}
	if inode, ok := proc.SocketInode(text); ok {
		o.socket(l, inode)
	}
	return nil
}

// opened is what a process has open.
type opened struct {
	ports []int
	names []string
	// blind is whether it has a socket whose users are not known, unclear whether one that may be connected.
	blind, unclear bool
	talk
	outputs
}

func (o *opened) socket(l *listeners, inode uint64) {
	local, known := l.unix[inode]
	_, tcp := l.tcp[inode]
	o.blind = o.blind || !known && !tcp || known && local.datagrams
	if port, ok := l.ports[inode]; ok {
		o.ports = append(o.ports, port)
	}
	if name, ok := l.names[inode]; ok {
		o.names = append(o.names, name)
	}
	end, open, understood := l.end(inode)
	o.unclear = o.unclear || !understood
	if open && !slices.Contains(o.talk.sockets, inode) {
		o.talk.sockets, o.talk.ends = append(o.talk.sockets, inode), append(o.talk.ends, end)
	}
}

func (o *opened) fill(l *listeners, r *record) {
	p := &r.Process
	p.Listening, p.UnixSockets = known(l.ports != nil, o.ports), known(l.names != nil, o.names)
	p.Clients = l.clients(p.Listening, p.UnixSockets, o.blind)
	if l.tcp != nil && l.unix != nil && !o.unclear {
		p.Connections, r.talk = new(len(o.talk.sockets)), &o.talk
	}
	if r.depth == full && !o.unknown {
		p.WritesFiles = new(o.count)
		if o.count > 0 {
			p.OutputAt = new(o.at.UTC())
		}
	}
}

func known[T cmp.Ordered](is bool, found []T) *[]T {
	if !is {
		return nil
	}
	slices.Sort(found)
	return new(append([]T{}, slices.Compact(found)...))
}

// pair are the addresses of a connection's ends.
type pair struct{ local, remote netip.AddrPort }

// tcpSocket is a TCP socket. One that no process has, or not yet, has no inode.
type tcpSocket struct {
	inode uint64
	pair
	state uint8
}

func newTCP(inode uint64, local, remote netip.AddrPort, state uint64) tcpSocket {
	return tcpSocket{inode, pair{local, remote}, uint8(min(state, 32))}
}

func (s tcpSocket) open() bool { return openStates&(1<<s.state) != 0 }

// tcpTable counts the TCP sockets in net/tcp and net/tcp6. A kernel without IPv6 has no tcp6.
func tcpTable(r *host.Root) (map[tcpSocket]int, error) {
	p, err := procfs.NewFS(r.Path)
	if err != nil {
		return nil, err
	}
	//lint:ignore SA1019 netlink, which is named instead, asks the running kernel: it cannot read the tables below another root
	four, err := p.NetTCP()
	if err != nil {
		return nil, err
	}
	//lint:ignore SA1019 as above
	six, err := p.NetTCP6()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	all := map[tcpSocket]int{}
	for _, s := range slices.Concat(four, six) {
		all[newTCP(s.Inode, address(s.LocalAddr, s.LocalPort), address(s.RemAddr, s.RemPort), s.St)]++
	}
	return all, nil
}

// clients counts the connections that are open to what a process listens on; nil where that is not known. Datagrams come without a
// connection, and blind is whether the process has sockets whose users are not known.
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

// address has an IPv4 address as one, also where a socket of IPv6 has it.
func address(ip []byte, port uint64) netip.AddrPort {
	at, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(at.Unmap(), uint16(port))
}

// talk are the connected sockets of a process, by inode, with the socket at the other end of each: 0 where that is not of this network namespace, or no
// process has it yet.
type talk struct{ sockets, ends []uint64 }

// logSinks are unix sockets to which a connection is no conversation: what is written there is a log, or a question of the C library about names, for which
// it keeps the connection.
var logSinks = []string{
	"/run/systemd/journal/stdout", "/var/run/nscd/socket", "/run/nscd/socket", "/var/run/nslcd/socket", "/run/nslcd/socket", "/var/lib/sss/pipes/nss",
}

// end is the other end of a socket that is connected, see talk. Open is false for one that listens, takes datagrams, or is of a pair without a name, and where
// the other end was closed by all who had it. Understood is false where it may be connected.
func (l *listeners) end(inode uint64) (end uint64, open, understood bool) {
	if s, ok := l.tcp[inode]; ok {
		end, open = l.tcpEnd(s)
		return end, open, true
	}
	u, ok := l.unix[inode]
	if !ok || !u.asked && !u.listens && !u.datagrams {
		return 0, false, false
	}
	other := l.unix[u.peer]
	switch {
	case !u.connected, u.listens, u.datagrams, u.peer != 0 && u.name == "" && other.name == "":
		return 0, false, true
	}
	return u.peer, !slices.Contains(logSinks, u.name) && !slices.Contains(logSinks, other.name), true
}

// tcpEnd knows that a connection within this machine has both ends in the same table, unless one was closed. One without an inode waits to be
// accepted while both sides can send (ESTABLISHED or SYN_RECV), and else was closed by its process.
func (l *listeners) tcpEnd(s tcpSocket) (end uint64, open bool) {
	other, here := l.ends[pair{s.remote, s.local}]
	switch {
	case !s.open(), !here && s.remote.Addr().IsLoopback():
		return 0, false
	case here && other.inode == 0:
		return 0, other.state == stateEstablished || other.state == stateSynRecv
	}
	return other.inode, true
}

// meet says of each connection which process has its other end, where it is one that was read and no other one of these has it too.
func (s *scan) meet() {
	const several = -1
	holders := map[uint64]int{}
	for _, r := range s.found {
		if r.talk == nil {
			continue
		}
		for _, inode := range r.talk.sockets {
			if _, taken := holders[inode]; taken {
				holders[inode] = several
			} else {
				holders[inode] = r.PID
			}
		}
	}
	for _, r := range s.found {
		if r.talk == nil {
			continue
		}
		to := []int{}
		for _, inode := range r.talk.ends {
			if pid := holders[inode]; inode != 0 && pid > 0 {
				to = append(to, pid)
			}
		}
		slices.Sort(to)
		r.ConnectedTo, r.talk = &to, nil
	}
}
