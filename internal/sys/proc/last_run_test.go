package proc

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestParseSched(t *testing.T) {
	t.Parallel()
	line := "se.exec_start                                :      27748392.283816\n"
	for text, want := range map[string]sched{
		"zsh (12, #threads: 1)\n---\n" + line + "se.vruntime   :   1.000000\nse.avg.last_update_time : 27748392283000\n": {27748392283816, 27748392283000},
		"se.exec_start : 0.000001\n":                               {ran: 1},
		"se.exec_start : 0.000000\nse.avg.last_update_time : 7\n":  {counted: 7},
		"se.exec_start : 0.000000\nse.avg.last_update_time : -7\n": {},
		"":                            {},
		"se.vruntime : 1.000000\n":    {},
		"se.exec_start : 0.000000\n":  {},
		"se.exec_start : -1.000000\n": {},
		"se.exec_start : 5\n":         {},
		"se.exec_start : 5.5\n":       {},
		"se.exec_start : x.000000\n":  {},
		"se.exec_start : 99999999999999999999.000000\n": {},
	} {
		got, err := parseSched([]byte(text))
		if got != want || (err != nil) != (want == sched{}) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
}

// TestWhenAProcessRan has a process that sleeps, and then is woken.
func TestWhenAProcessRan(t *testing.T) {
	t.Parallel()
	c := exec.Command("cat")
	in := must.Get(c.StdinPipe())(t)
	out := must.Get(c.StdoutPipe())(t)
	must.Do(t, c.Start())
	t.Cleanup(func() { _ = in.Close(); _ = c.Wait() })
	dir := must.Get(unix.Open("/proc/"+strconv.Itoa(c.Process.Pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))(t)
	defer unix.Close(dir)
	var before unix.CPUSet
	must.Do(t, unix.SchedGetaffinity(os.Getpid(), &before))
	rested := func() time.Duration {
		t.Helper()
		ran, err := ReadRan(dir, make([]byte, 8<<10))
		if err != nil {
			t.Skipf("the kernel does not tell: %v", err)
		}
		clocks := new(Clocks)
		since := must.Get(clocks.Since(ran))(t)
		// One that was moved as it fell asleep has no other time than that of its load.
		if moved, err := clocks.Since(Ran{sched{counted: ran.at.counted}, ran.Processor}); err != nil || moved > since+time.Second {
			t.Errorf("it rested for %v, and by its load for %v: %v", since, moved, err)
		}
		return since
	}
	wake := func() {
		t.Helper()
		must.Get(in.Write([]byte("x")))(t)
		must.Get(out.Read(make([]byte, 1)))(t)
		for deadline := time.Now().Add(time.Minute); ; { // it answered, and is about to sleep
			text, err := os.ReadFile("/proc/" + strconv.Itoa(c.Process.Pid) + "/stat")
			if err != nil || time.Now().After(deadline) {
				t.Fatalf("it does not sleep: %v", err)
			}
			if strings.Contains(string(text), ") S ") {
				return
			}
		}
	}
	wake()
	began := time.Now()
	for rested() < 200*time.Millisecond {
		if time.Since(began) > time.Minute {
			t.Fatalf("after %v it has rested for %v", time.Since(began), rested())
		}
		time.Sleep(10 * time.Millisecond)
	}
	if passed := time.Since(began); passed < 100*time.Millisecond {
		t.Errorf("it rested for 200ms in %v", passed)
	}
	asked := time.Now()
	wake()
	if got := rested(); got > time.Since(asked)+50*time.Millisecond {
		t.Errorf("it was woken %v ago at most, and has rested for %v", time.Since(asked), got)
	}
	var after unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &after); err != nil || after != before {
		t.Errorf("the processors that this process may use: %v, want %v: %v", after, before, err)
	}
}

// TestAClockThatIsNotThere asks for a processor that no machine has.
func TestAClockThatIsNotThere(t *testing.T) {
	t.Parallel()
	if _, err := new(Clocks).Since(Ran{sched{ran: 1}, 1 << 20}); err == nil {
		t.Error("there is a clock of processor 1048576")
	}
}
