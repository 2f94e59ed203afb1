package peercred

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

var (
	one = netip.MustParseAddrPort("127.0.0.1:4100")
	two = netip.MustParseAddrPort("127.0.0.1:50000")
)

func message(kind uint16, body []byte) []byte {
	e := binary.NativeEndian
	m := e.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	m = e.AppendUint16(m, kind)
	m = append(m, make([]byte, 10)...)
	return append(m, body...)
}

func diag(state uint8, sport, dport uint16, uid, inode uint32) []byte {
	b := make([]byte, diagMessage)
	b[stateAt] = state
	binary.BigEndian.PutUint16(b[sportAt:], sport)
	binary.BigEndian.PutUint16(b[dportAt:], dport)
	binary.NativeEndian.PutUint32(b[uidAt:], uid)
	binary.NativeEndian.PutUint32(b[inodeAt:], inode)
	return message(unix.SOCK_DIAG_BY_FAMILY, b)
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	if e, err := answer(diag(1, 4100, 50000, 7, 9), one, two); err != nil || e != (end{1, 7, 9}) {
		t.Errorf("got %+v, %v", e, err)
	}
	if e, err := answer(diag(tcpListen, 4100, 0, 7, 9), one, two); err != nil || e.state != tcpListen {
		t.Errorf("got %+v, %v", e, err)
	}
	no := binary.NativeEndian.AppendUint32(nil, ^uint32(unix.ENOENT)+1)
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"another connection": {diag(1, 4100, 50001, 7, 9), unix.EBADMSG}, "another port": {diag(1, 4101, 50000, 7, 9), unix.EBADMSG},
		"cut short": {diag(1, 4100, 50000, 7, 9)[:60], unix.EBADMSG}, "nothing": {nil, unix.EBADMSG}, "none": {message(unix.NLMSG_ERROR, no), unix.ENOENT},
		"no error": {message(unix.NLMSG_ERROR, make([]byte, 4)), unix.EBADMSG}, "the end": {message(unix.NLMSG_DONE, nil), unix.EBADMSG},
	} {
		if e, err := answer(c.data, one, two); !errors.Is(err, c.want) {
			t.Errorf("%s: want %v, got %+v, %v", name, c.want, e, err)
		}
	}
}

// Also after a hostile answer: no panic, and no owner for a socket with other ports than those that were asked for.
func FuzzAnswer(f *testing.F) {
	f.Add(diag(1, 4100, 50000, 7, 9))
	f.Add(message(unix.NLMSG_ERROR, make([]byte, 4)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if e, err := answer(data, one, two); err != nil && e != (end{}) {
			t.Errorf("%+v beside %v", e, err)
		}
	})
}

// A connection that is not accepted yet says nothing of its owner, also when the kernel gives a uid for it.
func TestAskTellsAcceptedFromWaiting(t *testing.T) {
	t.Parallel()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	c := must.Get(net.Dial("tcp", l.Addr().String()))(t)
	defer c.Close()
	local, remote := netip.MustParseAddrPort(c.LocalAddr().String()), netip.MustParseAddrPort(c.RemoteAddr().String())
	if e, err := ask(remote, local); err != nil || e.inode != 0 || e.state == tcpListen {
		t.Errorf("before it is accepted: %+v, %v", e, err)
	}
	s := must.Get(l.Accept())(t)
	defer s.Close()
	if e, err := ask(remote, local); err != nil || e.inode == 0 || int(e.uid) != os.Geteuid() {
		t.Errorf("after it was accepted: %+v, %v", e, err)
	}
	if e, err := ask(remote, netip.AddrPort{}); err != nil || e.state != tcpListen || int(e.uid) != os.Geteuid() {
		t.Errorf("who listens: %+v, %v", e, err)
	}
	if e, err := ask(netip.MustParseAddrPort("127.0.0.1:1"), netip.AddrPort{}); !errors.Is(err, unix.ENOENT) {
		t.Errorf("without a listener: %+v, %v", e, err)
	}
}

// What a name leads to decides, not the name.
func TestStaysHome(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{"127.0.0.1:1": true, "[::1]:1": true, "127.9.9.9:1": true, "[::ffff:127.0.0.1]:1": true,
		"192.0.2.1:1": false, "[::ffff:192.0.2.1]:1": false, "0.0.0.0:1": false, "[fe80::1%lo]:1": false, "x": false} {
		if err := home("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}
