package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// reused is what came of giving a process's number away while it was held.
type reused struct {
	// Trials counts the numbers that were given away, SameStart those whose new process has the old one's start ticks, and Wrong
	// those whose new process was taken for the old one or was signalled.
	Trials, SameStart, Wrong int
	// Why says of each wrong one what went wrong.
	Why   []string `json:",omitempty"`
	Error string
}

// TestForcedReuse lets another process have the number of one that is held, in a pid namespace whose next number can be set.
func TestForcedReuse(t *testing.T) {
	t.Parallel()
	c := exec.Command("/proc/self/exe")
	c.Env, c.Stderr = append(os.Environ(), roleVar+"=reuse"), os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
	out, err := c.Output()
	if err != nil && len(out) == 0 {
		t.Skipf("no pid namespace of its own: %v", err)
	}
	var got reused
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got.Error != "" {
		t.Skipf("numbers cannot be given away here: %s", got.Error)
	}
	t.Logf("%d numbers given away, %d of them with the same start ticks", got.Trials, got.SameStart)
	if got.Wrong != 0 || got.Trials < 50 {
		t.Errorf("%+v", got)
	}
}

// reuse is the first process of the namespace. It prints what came of its trials.
func reuse() {
	const wanted, most = 60, 400
	var r reused
	err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("proc", "/proc", "proc", 0, ""))
	for range most {
		if err != nil || r.Trials == wanted {
			break
		}
		err = r.trial()
	}
	if err != nil {
		r.Error = err.Error()
	}
	json.NewEncoder(os.Stdout).Encode(r)
	os.Exit(0)
}

func (r *reused) trial() error {
	old := exec.Command("sleep", "300")
	if err := old.Start(); err != nil {
		return err
	}
	p, err := settledIdentity(old.Process.Pid)
	if err != nil {
		return err
	}
	g, err := New(options()).Hold(context.Background(), "A1", decide(p))
	if err != nil {
		return err
	}
	defer g.Close()
	old.Process.Kill()
	old.Wait()
	if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(p.PID-1)), 0); err != nil {
		return err
	}
	next := exec.Command("sleep", "300")
	if err := next.Start(); err != nil {
		return err
	}
	defer func() { next.Process.Kill(); next.Wait() }()
	if next.Process.Pid != p.PID { // a thread of this process got the number
		return nil
	}
	q, err := settledIdentity(p.PID)
	if err != nil {
		return err
	}
	r.Trials++
	if q.StartTicks == p.StartTicks {
		r.SameStart++
	}
	if err := spared(g, p, q); err != nil {
		r.Wrong++
		r.Why = append(r.Why, err.Error())
	}
	return nil
}

// spared says whether the old hold, a new one with the old identity, or a bare signal through what was held reached the new
// process.
func spared(g actuators.Held, p, q decision.Process) error {
	if err := g.(*held).Signal(unix.SIGKILL); !errors.Is(err, proc.ErrEnded) {
		return fmt.Errorf("a signal through what was held: %v", err)
	}
	if out := g.Act(context.Background(), intent(p)); out.Outcome != decision.Gone {
		return fmt.Errorf("the old hold: %s: %s", out.Outcome, out.Detail)
	}
	if fresh, err := New(options()).Hold(context.Background(), "A1", decide(p)); err == nil {
		return errors.Join(errors.New("a new hold took it for the old one"), fresh.Close())
	}
	if now, err := identity(p.PID); err != nil || now != q {
		return fmt.Errorf("the new process is not what it was: %+v, %+v, %v", q, now, err)
	}
	return nil
}

// settledIdentity waits until a child has become the program that it was started as: its name changes before its command line, and
// on a busy machine two looks may both fall in between.
func settledIdentity(pid int) (decision.Process, error) {
	var last decision.Process
	for {
		p, err := identity(pid)
		if err != nil {
			return p, fmt.Errorf("identify pid %d: %w", pid, err)
		}
		if p.Name == "sleep" && p.ArgvDigest == proc.Digest(p.BootID, []byte("sleep\x00300\x00")) && p == last {
			return p, nil
		}
		last = p
	}
}
