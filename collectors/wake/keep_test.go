package wake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// keeps is a Keeper that rests for a short time only.
func keeps(t *testing.T, h *heard, log hclog.Logger) *Keeper {
	t.Helper()
	k := NewKeeper(h.wake, log)
	k.least, k.most = 5*time.Millisecond, 80*time.Millisecond
	t.Cleanup(k.Close)
	return k
}

// TestAWatchThatBreaks begins again, watches what was watched, and wakes for what may have happened meanwhile.
func TestAWatchThatBreaks(t *testing.T) {
	t.Parallel()
	dir := files.Folder(t, t.TempDir(), "watched")
	h := &heard{n: map[string]int{}}
	f := NewFiles("/proc", h.wake, hclog.NewNullLogger())
	k := keeps(t, h, hclog.NewNullLogger())
	k.Keep("files", Folder, f.Run)
	wait.Eventually(t, "listening", func() bool { return k.States()["files"].Listening })
	sleeper := exec.Command("sleep", "300")
	must.Do(t, sleeper.Start())
	t.Cleanup(func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() })
	st := must.Get(proc.StatOf("/proc", sleeper.Process.Pid))(t)
	f.Set(Targets{Folders: []string{dir}, Processes: []Target{{sleeper.Process.Pid, st.Start}}})
	watched := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.files.WatchList()) == 1 && len(f.processes) > 0
	}
	wait.Eventually(t, "watched", watched)
	must.Do(t, f.files.Close())
	wait.Eventually(t, "begun again", func() bool { return k.States()["files"].Failures == 1 && watched() })
	if s := k.States()["files"]; s.Failures != 1 || !s.Listening || s.Why != "" {
		t.Errorf("it stands as %+v", s)
	}
	before := h.of(Folder)
	files.Folder(t, dir, "newer")
	wait.Eventually(t, "woken by an entry", func() bool { return h.of(Folder) > before })
	must.Do(t, sleeper.Process.Kill())
	wait.Eventually(t, "woken by an end", func() bool { return h.of(Process) == 1 })
}

// log takes what is logged.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

// TestKeeper follows one source that fails, recovers and fails again: what it logs, counts and wakes for, and how it rests.
func TestKeeper(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// The source is a pipe with a name: it is there or not, and ends with who writes.
	path := filepath.Join(dir, "pipe")
	var mu sync.Mutex
	var tries []time.Time
	run := func(ctx context.Context, listening func()) error {
		mu.Lock()
		tries = append(tries, time.Now())
		mu.Unlock()
		f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		listening()
		defer context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })()
		_, err = f.Read(make([]byte, 1))
		if err == nil {
			err = errors.New("it hung up")
		}
		return err
	}
	out := &log{}
	h := &heard{n: map[string]int{}}
	k := keeps(t, h, hclog.New(&hclog.LoggerOptions{Output: out, Level: hclog.Info}))
	k.Keep("pipe", "pipe", run)
	failures := func() int { return k.States()["pipe"].Failures }
	wait.Eventually(t, "tried", func() bool { return failures() >= 8 })
	if n := out.count("it is tried again"); n != 1 {
		t.Errorf("its end is logged %d times", n)
	}
	if s := k.States()["pipe"]; s.Listening || !strings.Contains(s.Why, "no such file") {
		t.Errorf("it stands as %+v", s)
	}
	mu.Lock()
	var last time.Duration
	for i := 1; i < 6; i++ { // 5, 10, 20, 40, 80 ms, at least
		if gap := tries[i].Sub(tries[i-1]); gap < 5*time.Millisecond<<(i-1) {
			t.Errorf("the rest %d was %s", i, gap)
		} else {
			last = gap
		}
	}
	if last < k.most {
		t.Errorf("the last rest was %s", last)
	}
	mu.Unlock()
	if h.of("pipe") != 0 {
		t.Error("it woke before it was heard")
	}

	must.Do(t, unix.Mkfifo(path, 0o600))
	k.Retry("pipe")
	wait.Eventually(t, "listening", func() bool { return k.States()["pipe"].Listening })
	wait.Eventually(t, "woken for what was missed", func() bool { return h.of("pipe") == 1 })
	if n := out.count("heard again"); n != 1 {
		t.Errorf("its return is logged %d times", n)
	}
	before := failures()
	f := must.Get(os.OpenFile(path, os.O_WRONLY, 0))(t)
	_ = must.Get(f.Write([]byte{0}))(t)
	wait.Eventually(t, "listening again", func() bool { return failures() == before+1 && k.States()["pipe"].Listening })
	must.Do(t, f.Close())

	k.End("pipe")
	wait.Eventually(t, "ended", func() bool { k.all.Wait(); return len(k.States()) == 0 })

	k.Keep("none", "none", func(context.Context, func()) error { return fmt.Errorf("%w: no", ErrUnavailable) })
	wait.Eventually(t, "given up", func() bool { k.all.Wait(); return k.States()["none"].Failures == 1 })
	if n := out.count("none"); n != 0 {
		t.Errorf("what is not available is logged %d times", n)
	}
}
