package listen

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// connectTo names the socket at which this program, run by another user, asks and prints what it heard.
const connectTo = "WINNOW_TEST_CONNECT_TO"

func TestMain(m *testing.M) {
	if path := os.Getenv(connectTo); path != "" {
		c, err := net.Dial("unix", path)
		if err != nil {
			fmt.Println("not connected:", err)
			return
		}
		_ = c.SetDeadline(time.Now().Add(wait.Patience))
		_, _ = io.WriteString(c, "hello\n")
		heard, _ := io.ReadAll(c)
		fmt.Printf("connected, heard %q\n", heard)
		return
	}
	os.Exit(m.Run())
}

// greeter answers each connection that it gets with what was sent and who sent it.
func greeter(t *testing.T, path string, most int) (refused *atomic.Int32) {
	t.Helper()
	refused = &atomic.Int32{}
	own := FilterPeers(must.Get(Unix(t.Context(), path))(t), most, func(error) { refused.Add(1) })
	t.Cleanup(func() { _ = own.Close() })
	go func() {
		for {
			c, err := own.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 6)
				_, _ = io.ReadFull(c, buf)
				who := c.(Conn)
				fmt.Fprintf(c, "%sfrom %d %d", buf, who.UID, who.PID)
			}()
		}
	}()
	return refused
}

func TestOwnSaysWhoConnected(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	greeter(t, path, 3)
	c := must.Get(net.Dial("unix", path))(t)
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(wait.Patience))
	must.Get(io.WriteString(c, "hello\n"))(t)
	must.Equal(t, fmt.Sprintf("hello\nfrom %d %d", os.Geteuid(), os.Getpid()), string(must.Get(io.ReadAll(c))(t)), "the answer")
}

// TestOwnBoundsConnections: one more waits until one is closed, and then is answered.
func TestOwnBoundsConnections(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	greeter(t, path, 2)
	var open []net.Conn
	for range 3 {
		open = append(open, must.Get(net.Dial("unix", path))(t))
	}
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	answered := make(chan string, 1)
	go func() {
		_, _ = io.WriteString(open[2], "hello\n")
		heard, _ := io.ReadAll(open[2])
		answered <- string(heard)
	}()
	select {
	case heard := <-answered:
		t.Fatalf("a third one was answered: %q", heard)
	case <-time.After(200 * time.Millisecond):
	}
	_ = open[0].Close()
	select {
	case heard := <-answered:
		if !strings.HasPrefix(heard, "hello\n") {
			t.Errorf("heard %q", heard)
		}
	case <-time.After(wait.Patience):
		t.Error("the third one is never answered")
	}
}

// TestOwnEndsWhileItIsFull: Accept ends with the listener, also where it waits for a connection to be closed.
func TestOwnEndsWhileItIsFull(t *testing.T) {
	t.Parallel()
	own := FilterPeers(must.Get(Unix(t.Context(), filepath.Join(t.TempDir(), "s")))(t), 1, func(error) {})
	c := must.Get(net.Dial("unix", own.Addr().String()))(t)
	defer c.Close()
	first := must.Get(own.Accept())(t)
	defer first.Close()
	ended := make(chan error, 1)
	go func() { _, err := own.Accept(); ended <- err }()
	must.Do(t, own.Close())
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it accepted one more")
		}
	case <-time.After(wait.Patience):
		t.Error("Accept does not end")
	}
}

func TestAttackAnotherUserConnects(t *testing.T) {
	t.Parallel()
	victim, attacker := attack.Users(t)
	a := attack.New(t, "another user connects to a socket of the daemon's whose mode lets him")
	path := filepath.Join(filepath.Dir(victim.Home), "s") // in a folder of root's, who listens, that all may enter
	refused := greeter(t, path, 2)
	must.Do(t, os.Chmod(path, 0o777))
	program := filepath.Join(attacker.Home, "program")
	executable.Copy(t, must.Get(os.Executable())(t), program)
	must.Do(t, os.Chmod(program, 0o755))
	for i := range int32(5) { // more often than there may be connections: a refused one holds no place
		cmd := attacker.Command(program)
		cmd.Env = append(cmd.Env, connectTo+"="+path)
		out := string(must.Get(cmd.CombinedOutput())(t))
		switch {
		case !strings.Contains(out, "connected"):
			t.Fatalf("he does not get there, so that this attacks nothing: %s", out)
		// The connection is closed before it is told of, and he may be gone in between.
		case !strings.Contains(out, `connected, heard ""`), !wait.Until(wait.Patience, func() bool { return refused.Load() > i }), refused.Load() != i+1:
			a.Lost("refused %d times, %s", refused.Load(), out)
		default:
			a.Held()
		}
	}
}
