package attack

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// roleVar names the variable that makes a test binary play a role instead of running its tests.
const roleVar = "WINNOW_ROLE"

// Main runs the tests in namespaces of their own (machine.Alone), or the role for which User.Listen and User.Grab started this binary again. A package whose tests use those
// has it for its TestMain, or calls Play first there.
func Main(m *testing.M) {
	Play()
	machine.Alone()
	code := m.Run()
	if builtDir != "" {
		_ = os.RemoveAll(builtDir)
	}
	os.Exit(code)
}

// Play plays the role that this program was started for, and then does not return; there may be none.
func Play() {
	role, args, _ := strings.Cut(os.Getenv(roleVar), " ")
	network, address, _ := strings.Cut(args, " ")
	switch role {
	case "":
		return
	case "listen":
		l, err := net.Listen(network, address)
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		if network == "unix" {
			_ = os.Chmod(address, 0o777)
		}
		fmt.Println("ready", l.Addr())
		serve(l)
	case "grab":
		fmt.Println("ready", address)
		for {
			if l, err := net.Listen(network, address); err == nil {
				time.AfterFunc(2*time.Millisecond, func() { _ = l.Close() })
				serve(l)
			}
			time.Sleep(time.Millisecond)
		}
	}
	os.Exit(2)
}

// lure is an answer that a client of herdr, of a Tower, or of a protocol of lines might accept.
const lure = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 39\r\n\r\n{\"version\":\"3.3.0\",\"terminals\":[]}     \r\n"

// serve tells of every connection, and of every line that comes.
func serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		fmt.Println("connection")
		go func() {
			defer func() { _ = c.Close() }()
			in := bufio.NewReader(io.LimitReader(c, 1<<20))
			for {
				line, err := in.ReadString('\n')
				if line != "" {
					fmt.Printf("got %q\n", line)
				}
				if err != nil {
					return
				}
				if strings.TrimSpace(line) == "" || line[0] == '{' {
					_, _ = io.WriteString(c, lure)
				}
			}
		}()
	}
}

// Heard is what a listener of another user reported: how many connections it took, and what came through them.
type Heard struct {
	// Address is where it listens.
	Address string

	mu          sync.Mutex
	connections int
	lines       []string
}

// Connections is how many were taken so far.
func (h *Heard) Connections() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.connections
}

// Text is everything that came so far.
func (h *Heard) Text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.lines, "")
}

// Listen starts a process of u's that listens, on a unix socket that everybody may connect to or on a TCP address, and gives
// what it hears. It ends with the test.
func (u User) Listen(t *testing.T, network, address string) *Heard {
	t.Helper()
	return u.play(t, "listen "+network+" "+address)
}

// Grab starts a process of u's that takes the TCP address for some milliseconds whenever it is free, and gives what it hears.
func (u User) Grab(t *testing.T, address string) *Heard {
	t.Helper()
	return u.play(t, "grab tcp "+address)
}

func (u User) play(t *testing.T, role string) *Heard {
	t.Helper()
	cmd := u.Command(u.self(t))
	cmd.Env = append(cmd.Env, roleVar+"="+role)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("play %q: %v", role, err)
	}
	h, ready := &Heard{}, make(chan string, 1)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for in := bufio.NewScanner(out); in.Scan(); {
			h.take(in.Text(), ready)
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-over
		_ = cmd.Wait()
	})
	select {
	case h.Address = <-ready:
	case <-over:
		t.Fatalf("play %q: %v", role, h.Text())
	case <-time.After(wait.Patience):
		t.Fatalf("play %q: it does not begin", role)
	}
	return h
}

func (h *Heard) take(line string, ready chan<- string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "ready":
		ready <- rest
	case "connection":
		h.connections++
	default:
		h.lines = append(h.lines, rest+"\n")
	}
}

// self copies this test's program to where u can run it.
func (u User) self(t *testing.T) string {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(u.Home, "program")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	executable.Copy(t, own, path)
	u.own(t, path)
	return path
}
