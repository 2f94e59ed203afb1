package attack

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

// Grown runs f and gives by how many bytes this process grew at most while it ran. Nothing else may run in the meantime. Where the
// kernel does not measure the most anew (/proc/self/clear_refs), the test is skipped.
func Grown(t testing.TB, f func()) int64 {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600); err != nil {
		t.Skipf("the most memory cannot be measured anew: %v", err)
	}
	before := memory(t, "VmRSS")
	f()
	return memory(t, "VmHWM") - before
}

// memory is a number of bytes in /proc/self/status: what this process holds (VmRSS), or the most that it held (VmHWM).
func memory(t testing.TB, name string) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), name+":")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatalf("read %s in /proc/self/status: %v", name, err)
	}
	return kib << 10
}
