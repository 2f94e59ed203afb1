package tower

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// startMs is when a process began as Codev counts it: the change time of its folder in /proc, in ms since 1970. 0 when the process is missing.
func startMs(pid int) int64 {
	var st unix.Stat_t
	if unix.Stat(fmt.Sprintf("/proc/%d", pid), &st) != nil {
		return 0
	}
	return st.Ctim.Nano() / 1e6
}

// rssKb is how much memory a process holds, in KiB.
func rssKb(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	var size, pages int
	_, _ = fmt.Sscan(string(text), &size, &pages)
	return pages * os.Getpagesize() / 1024
}
