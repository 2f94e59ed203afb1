package wake

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// message is one of the kernel's, as include/uapi/linux/cn_proc.h has it.
func message(what uint32, data ...uint32) []byte {
	b := make([]byte, 76)
	order := binary.NativeEndian
	order.PutUint32(b[0:], 76)
	order.PutUint16(b[4:], unix.NLMSG_DONE)
	order.PutUint32(b[16:], 1) // CN_IDX_PROC
	order.PutUint32(b[20:], 1) // CN_VAL_PROC
	order.PutUint16(b[32:], 40)
	order.PutUint32(b[36:], what)
	order.PutUint64(b[44:], 1436891060762)
	for i, v := range data {
		order.PutUint32(b[52+4*i:], v)
	}
	return b
}

func TestParseExit(t *testing.T) {
	t.Parallel()
	other := message(eventExit, 7, 7)
	binary.NativeEndian.PutUint32(other[16:], 2)
	for name, c := range map[string]struct {
		message []byte
		from    uint32
		want    string
	}{
		"an exit":             {message(eventExit, 7, 7, 256, 17, 1, 1), 0, "2147483648 7 true"},
		"a thread's":          {message(eventExit, 8, 7), 0, "2147483648 8 false"},
		"a fork":              {message(1, 7, 7, 8, 8), 0, "1 0 false"},
		"a program":           {message(2, 7, 7), 0, "2 0 false"},
		"an agreement":        {message(eventNone, 0), 0, "0 0 true"},
		"a refusal":           {message(eventNone, uint32(unix.EPERM)), 0, "0 0 false"},
		"another's":           {message(eventExit, 7, 7), 4711, "0 0 false"},
		"another connector's": {other, 0, "0 0 false"},
		"half of one":         {message(eventExit, 7, 7)[:58], 0, "0 0 false"},
		"nothing":             {nil, 0, "0 0 false"},
	} {
		what, pid, ok := parseExit(c.message, c.from)
		if got := fmt.Sprint(what, pid, ok); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestExitFilter has the kernel run the filter, on a socket of another kind: the ends of processes pass, and the kernel's agreement.
func TestExitFilter(t *testing.T) {
	t.Parallel()
	program := exitFilter()
	ends := must.Get(unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0))(t)
	t.Cleanup(func() { _ = unix.Close(ends[0]); _ = unix.Close(ends[1]) })
	must.Do(t, unix.SetsockoptSockFprog(ends[1], unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}))
	buf := make([]byte, 100)
	for name, c := range map[string]struct {
		message []byte
		passes  bool
	}{
		"an end":       {message(eventExit, 4711, 4711), true},
		"a thread's":   {message(eventExit, 4712, 4711), false},
		"a fork":       {message(1, 4711, 4711), false},
		"a program":    {message(2, 4711, 4711), false},
		"an agreement": {message(eventNone, 0), true},
	} {
		must.Do(t, unix.Send(ends[0], c.message, 0))
		if n, err := unix.Read(ends[1], buf); (n == len(c.message)) != c.passes || err != nil && !errors.Is(err, unix.EAGAIN) {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
}

// listens runs Exits on this machine, or skips the test with the reason.
func listens(t *testing.T, buffer int) (*Exits, *heard) {
	t.Helper()
	h := &heard{n: map[string]int{}}
	x := NewExits(h.wake)
	x.buffer = buffer
	ctx, cancel := context.WithCancel(t.Context())
	agreed, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- x.Run(ctx, func() { close(agreed) }) }()
	select {
	case err := <-ended:
		cancel()
		if errors.Is(err, ErrUnavailable) {
			t.Skip(err)
		}
		t.Fatal(err)
	case <-agreed:
	case <-time.After(wait.Patience):
		t.Fatal("neither yes nor no")
	}
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	})
	return x, h
}

// TestExits: the end of one that is in the set wakes once, that of another one does not, and neither do many that come and go.
func TestExits(t *testing.T) {
	t.Parallel()
	x, h := listens(t, bufferSize)
	start := func() (*exec.Cmd, Target) {
		cmd := exec.Command("sleep", "300")
		must.Do(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd, Target{PID: cmd.Process.Pid}
	}
	one, first := start()
	two, second := start()
	other, _ := start()
	x.Set([]Target{first, second, {}})
	must.Do(t, other.Process.Kill())
	_ = other.Wait()
	for range 100 {
		must.Do(t, exec.Command("true").Run())
	}
	time.Sleep(quiet)
	if n := h.of(Exit); n != 0 {
		t.Fatalf("woken %d times by others", n)
	}
	must.Do(t, one.Process.Kill())
	_ = one.Wait()
	wait.Eventually(t, "woken", func() bool { return h.of(Exit) == 1 })
	x.Set(nil)
	must.Do(t, two.Process.Kill())
	_ = two.Wait()
	time.Sleep(quiet)
	if n := h.of(Exit); n != 1 {
		t.Errorf("woken %d times, want 1", n)
	}
}

// TestExitsThatAreLost: where more end at once than the kernel keeps for us, that wakes, and what ends later is heard.
func TestExitsThatAreLost(t *testing.T) {
	t.Parallel()
	x, h := listens(t, 1) // the least that there is: some messages
	var all []*exec.Cmd
	var ts []Target
	for range 101 {
		cmd := exec.Command("sleep", "300")
		must.Do(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		all, ts = append(all, cmd), append(ts, Target{PID: cmd.Process.Pid})
	}
	x.Set(ts)
	for _, cmd := range all[1:] {
		must.Do(t, cmd.Process.Kill())
	}
	wait.Eventually(t, "woken", func() bool { return h.of(Exit) > 0 })
	time.Sleep(quiet)
	x.mu.Lock()
	heard := 100 - (len(x.known) - 1)
	x.mu.Unlock()
	if heard >= 100 {
		t.Skip("none was lost")
	}
	before := h.of(Exit)
	must.Do(t, all[0].Process.Kill())
	wait.Eventually(t, "woken by a later one", func() bool { return h.of(Exit) > before })
}

// TestUnavailable: only what stays so is final.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	for err, final := range map[error]bool{unix.EPERM: true, unix.EPROTONOSUPPORT: true, unix.EAFNOSUPPORT: true, unix.ECONNREFUSED: true, unix.EMFILE: false, unix.ENOBUFS: false} {
		if got := unavailable("socket", err); errors.Is(got, ErrUnavailable) != final || !errors.Is(got, err) {
			t.Errorf("%v: final %v, want %v", got, !final, final)
		}
	}
}
