package executable_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// TestWaiter: a program that waits without an end may do something by itself where what it has open wakes it, where a signal does, and where nohup started it.
func TestWaiter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, fifo := filepath.Join(dir, "waiter"), filepath.Join(dir, "fifo")
	executable.Waiter(t, program)
	must.Do(t, unix.Mkfifo(fifo, 0o600))
	for name, c := range map[string]struct {
		open  func() (int, error)
		start string
		comm  string
		want  bool
	}{
		"nothing":  {start: `"$0"`, comm: "waiter", want: true},
		"epoll":    {func() (int, error) { return unix.EpollCreate1(unix.EPOLL_CLOEXEC) }, `"$0"`, "waiter", true},
		"a timer":  {func() (int, error) { return unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC) }, `"$0"`, "waiter", false},
		"inotify":  {func() (int, error) { return unix.InotifyInit1(unix.IN_CLOEXEC) }, `"$0"`, "waiter", false},
		"a signal": {func() (int, error) { return unix.Signalfd(-1, &unix.Sigset_t{}, unix.SFD_CLOEXEC) }, `"$0"`, "waiter", false},
		"a FIFO":   {func() (int, error) { return unix.Open(fifo, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0) }, `"$0"`, "waiter", false},
		"a device": {func() (int, error) { return unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0) }, `"$0"`, "waiter", false},
		"nohup":    {nil, `nohup "$0"`, "waiter", false},
		"a sleep":  {nil, `sleep 1000`, "sleep", false},
		"a shell":  {nil, `sh -c 'read line <fifo'`, "sh", false},
		"stopped":  {nil, `sh -c 'kill -STOP $$'`, "sh", false},
	} {
		// Bash says in _ what it starts; other shells hand on what they were given.
		cmd := exec.Command("bash", "-c", c.start+` </dev/null >/dev/null 2>&1 & echo $!`, program)
		cmd.Dir = dir
		if c.open != nil {
			f := os.NewFile(uintptr(must.Get(c.open())(t)), name)
			defer f.Close()
			cmd.ExtraFiles = []*os.File{f}
		}
		pid := must.Get(strconv.Atoi(strings.TrimSpace(string(must.Get(cmd.Output())(t)))))(t)
		p := must.Get(os.FindProcess(pid))(t)
		t.Cleanup(func() { _ = p.Kill() })
		wait.Eventually(t, name+" rests", func() bool {
			st, err := proc.StatOf("/proc", pid)
			return err == nil && st.Comm == c.comm && strings.ContainsRune("ST", rune(st.State))
		})
		o := processes.Options{Root: "/proc", Markers: []string{"AGENT"}, Shells: []string{"sh"}, Only: []int{pid}}
		wait.Eventually(t, "how it waits with "+name, func() bool {
			for _, seen := range must.Get(processes.New(o).Read(t.Context()))(t).Processes {
				if seen.PID == pid && seen.Waits != nil {
					must.Equal(t, c.want, *seen.Waits, "%s: it waits without an end", name)
					return true
				}
			}
			return false
		})
	}
}
