package processes

import "slices"

// talk are the connected sockets of a process, by inode, with the socket at the other end of each: 0 where that is not of this network namespace, or no
// process has it yet.
type talk struct{ sockets, ends []uint64 }

func (t *talk) add(socket, end uint64) {
	if !slices.Contains(t.sockets, socket) {
		t.sockets, t.ends = append(t.sockets, socket), append(t.ends, end)
	}
}

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
