package bench_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// meterVar makes this program a meter: it runs the commands that it is told to, one after the other, and says what each used. It is a process of its own
// because the kernel counts into a program's greatest size also what the process had before it became that program; this one is small.
const meterVar = "WINNOW_BENCH_METER"

type order struct {
	Argv, Env []string
	Dir       string
	// Out is the file that gets what it prints; /dev/null where it is empty.
	Out string
}

// cost is what a program used, with all that it started and waited for.
type cost struct {
	CPU, Wall time.Duration
	// Memory is what the greatest of them had in memory at most, Written what they wrote to file systems that are on a disk; both in bytes.
	Memory, Written int64
	Exit            int
	Stderr          string
}

func beMeter() {
	orders, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var o order
		if orders.Decode(&o) != nil {
			return
		}
		if err := answers.Encode(measure(o)); err != nil {
			return
		}
	}
}

func measure(o order) cost {
	cmd := exec.Command(o.Argv[0], o.Argv[1:]...)
	cmd.Env, cmd.Dir = o.Env, o.Dir
	if o.Out != "" {
		f, err := os.Create(o.Out)
		if err != nil {
			return cost{Exit: -1, Stderr: err.Error()}
		}
		defer f.Close()
		cmd.Stdout = f
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	err := cmd.Run()
	c := cost{Wall: time.Since(began), Stderr: stderr.String()}
	if cmd.ProcessState == nil {
		return cost{Exit: -1, Stderr: err.Error()}
	}
	c.CPU, c.Exit = cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), cmd.ProcessState.ExitCode()
	if ru, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.Memory, c.Written = ru.Maxrss<<10, ru.Oublock*512
	}
	return c
}

// meter is a running meter.
type meter struct {
	tb   testing.TB
	in   io.Writer
	out  *json.Decoder
	env  []string
	home string
}

// newMeter gives one whose commands have an environment and begin in a folder.
func newMeter(tb testing.TB, home string, env []string) *meter {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Dir, cmd.Env, cmd.Stderr = home, append(env[:len(env):len(env)], meterVar+"=1"), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	return &meter{tb: tb, in: in, out: json.NewDecoder(out), env: env, home: home}
}

// run runs a command that has to end well.
func (m *meter) run(argv ...string) cost {
	m.tb.Helper()
	return m.order(order{Argv: argv})
}

// part is the exit code of a sweep that could not read a part of the world. On a busy machine tmux may not answer in time; such a run is no measure.
const part = 3

func (m *meter) order(o order) cost {
	m.tb.Helper()
	if o.Env == nil {
		o.Env = m.env
	}
	if o.Dir == "" {
		o.Dir = m.home
	}
	var c cost
	for range 5 {
		c = cost{}
		if err := json.NewEncoder(m.in).Encode(o); err != nil {
			m.tb.Fatal(err)
		}
		if err := m.out.Decode(&c); err != nil {
			m.tb.Fatal(err)
		}
		if c.Exit != part {
			break
		}
	}
	if c.Exit != 0 {
		said, _ := os.ReadFile(o.Out)
		m.tb.Fatalf("%s ended with %d: %s%.4000s", strings.Join(o.Argv, " "), c.Exit, c.Stderr, said)
	}
	return c
}

// least takes of each figure the least of all rounds.
type least struct {
	rounds int
	cost
}

func (l *least) add(c cost) {
	if l.rounds++; l.rounds == 1 {
		l.cost = c
		return
	}
	l.CPU, l.Wall = min(l.CPU, c.CPU), min(l.Wall, c.Wall)
	l.Memory, l.Written = min(l.Memory, c.Memory), min(l.Written, c.Written)
}

func (l *least) metrics() []metric {
	return []metric{
		{float64(l.CPU.Microseconds()) / 1e3, "cpu-ms"},
		{float64(l.Wall.Microseconds()) / 1e3, "wall-ms"},
		{float64(l.Memory) / 1e6, "rss-MB"},
	}
}

// times says how many times as much processor time it takes as a peer.
func (l *least) times(peer *least, name string) metric {
	return metric{float64(l.CPU) / float64(peer.CPU), fmt.Sprintf("x-%s", name)}
}
