package attack

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Grown runs f and gives by how many bytes this process grew at most while it ran. Nothing else may run in the meantime. Where the
// kernel does not measure the most again (/proc/self/clear_refs), the test is skipped.
func Grown(t testing.TB, f func()) int64 {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600); err != nil {
		t.Skipf("the most memory cannot be measured again: %v", err)
	}
	before := memory(t, "VmRSS")
	f()
	return memory(t, "VmHWM") - before
}

// memory is a number of bytes in /proc/self/status: what this process holds (VmRSS), or the most that it held (VmHWM).
func memory(t testing.TB, name string) int64 {
	t.Helper()
	kib, err := status("/proc/self/status", name)
	if err != nil {
		t.Fatalf("read %s in /proc/self/status: %v", name, err)
	}
	return kib << 10
}

// Peak gives how many bytes the process pid held at most, once it is asked for after its end. It looks every few milliseconds, for what
// the kernel says at the end (ru_maxrss of getrusage(2)) counts what the process that started it held at that moment.
func Peak(t testing.TB, pid int) (most func() int64) {
	t.Helper()
	over, done := make(chan struct{}), make(chan int64, 1)
	go func() {
		var peak int64
		for {
			if kib, err := status("/proc/"+strconv.Itoa(pid)+"/status", "VmHWM"); err == nil {
				peak = max(peak, kib<<10)
			}
			select {
			case <-over:
				done <- peak
				return
			case <-time.After(3 * time.Millisecond):
			}
		}
	}()
	return func() int64 { close(over); return <-done }
}

// status is a number in a status file of procfs, see proc_pid_status(5).
func status(path, name string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), name+":")
	var n int64
	_, err = fmt.Sscan(rest, &n)
	return n, err
}
