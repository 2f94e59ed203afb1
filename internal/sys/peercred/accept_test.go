package peercred_test

import (
	"errors"
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/peercred"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// accepts gives the next connection of a listener with what Accepted says of it.
func accepts(t *testing.T, l net.Listener) error {
	t.Helper()
	_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(wait.Patience))
	conn := must.Get(l.Accept())(t)
	defer func() { _ = conn.Close() }()
	return peercred.Accepted(conn)
}

func TestAcceptedIsOfThisUser(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err)
			continue
		}
		defer func() { _ = l.Close() }()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		for _, host := range []string{"127.0.0.1", "::1"} {
			conn, err := net.Dial("tcp", net.JoinHostPort(host, port))
			if err != nil {
				continue
			}
			if err := accepts(t, l); err != nil {
				t.Errorf("%s by %s: %v", at, host, err)
			}
			_ = conn.Close()
		}
	}
}

// TestAcceptedAfterTheEnd: who closes at once is not known any more.
func TestAcceptedAfterTheEnd(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = l.Close() }()
	for range 20 {
		conn := must.Get(net.Dial("tcp", l.Addr().String()))(t)
		_ = conn.(*net.TCPConn).SetLinger(-1)
		_ = conn.Close()
		if err := accepts(t, l); !errors.Is(err, peercred.ErrUnknown) {
			t.Errorf("a connection that was closed at the other end: %v", err)
		}
	}
}

// TestAttackAnotherUserConnects: another user connects, stays or goes at once.
func TestAttackAnotherUserConnects(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash, which the other user connects with")
	}
	_, attacker := attack.Users(t)
	a := attack.New(t, "another user connects to a server of this user's, and stays or leaves at once")
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for i := range 40 {
		line := "exec 3<>/dev/tcp/127.0.0.1/" + port + "; echo x >&3; "
		if i%2 == 0 {
			line += "read -t 5 -u 3"
		}
		cmd := attacker.Command(bash, "-c", line)
		must.Do(t, cmd.Start())
		if i%4 == 1 { // the other end has been closed before it is asked about
			_ = cmd.Wait()
		}
		if err := accepts(t, l); err == nil {
			a.Lost("a connection of uid %d is taken for this user's", attacker.UID)
		} else {
			a.Held()
		}
		_ = cmd.Wait()
	}
}
