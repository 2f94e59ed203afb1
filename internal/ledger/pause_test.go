package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
)

// clock gives the boot and its age.
func clock(boot string, up float64) func() (string, float64) {
	return func() (string, float64) { return boot, up }
}

func TestPause(t *testing.T) {
	t.Parallel()
	a, state := ledger.Acting{Home: t.TempDir()}, t.TempDir()
	path, err := a.Pause(t.Context(), state, ledger.Pause{Since: time.Now(), Reason: "a migration"})
	ok(t, err)
	// It is not the state folder's: it counts for another one.
	p := a.Paused(t.TempDir(), clock("b", 1))
	if p == nil || p.Reason != "a migration" || !strings.Contains(p.Error(), "a migration") || !strings.Contains(p.Error(), "winnow resume") {
		t.Fatalf("pause: %v", p)
	}
	if !strings.HasPrefix(path, a.Home+"/") {
		t.Errorf("the file is %s", path)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm()&0o022 != 0 {
		t.Errorf("others may write to it: %v, %v", st.Mode(), err)
	}
	if was, err := a.Resume(state); err != nil || !was {
		t.Errorf("resume: %v, %v", was, err)
	}
	if was, err := a.Resume(state); err != nil || was {
		t.Errorf("resume of nothing: %v, %v", was, err)
	}
	if p := a.Paused(state, clock("b", 1)); p != nil {
		t.Errorf("resumed: %v", p)
	}
	// Where there is no home, it is the state folder's.
	a.Home = filepath.Join(t.TempDir(), "none")
	path, err = a.Pause(t.Context(), state, ledger.Pause{Since: time.Now()})
	ok(t, err)
	if filepath.Dir(path) != state {
		t.Errorf("without a home the file is %s", path)
	}
	if _, err := os.Lstat(a.Home); err == nil {
		t.Error("a home was made")
	}
	if p := a.Paused(state, clock("b", 1)); p == nil {
		t.Error("it does not hold")
	}
}

// TestPauseWhereTheFolderChanges: a pause that was placed holds, also after changes of the rights of the folder that it lies in, and of the home.
func TestPauseWhereTheFolderChanges(t *testing.T) {
	t.Parallel()
	a, state := ledger.Acting{Home: t.TempDir()}, t.TempDir()
	_, err := a.Pause(t.Context(), state, ledger.Pause{Since: time.Now()})
	ok(t, err)
	ok(t, os.Chmod(a.Folder(), 0o777))
	if a.Paused(state, clock("b", 1)) == nil {
		t.Error("it ended when others might write to its folder")
	}
	if was, err := a.Resume(state); err != nil || !was || a.Paused(state, clock("b", 1)) != nil {
		t.Errorf("resume: %v, %v", was, err)
	}
	// Now it is placed for the state folder alone.
	path, err := a.Pause(t.Context(), state, ledger.Pause{Since: time.Now()})
	ok(t, err)
	if filepath.Dir(path) != state {
		t.Errorf("the file is %s", path)
	}
	ok(t, os.Chmod(a.Folder(), 0o700))
	if a.Paused(state, clock("b", 1)) == nil {
		t.Error("it ended when the home could be relied on again")
	}
	if a.Paused(t.TempDir(), clock("b", 1)) != nil {
		t.Error("a pause of one state folder holds for another one")
	}
	if was, err := a.Resume(state); err != nil || !was || a.Paused(state, clock("b", 1)) != nil {
		t.Errorf("resume: %v, %v", was, err)
	}
}

// TestALongReason: what is placed can be read, and what could not is refused.
func TestALongReason(t *testing.T) {
	t.Parallel()
	a, state := ledger.Acting{Home: t.TempDir()}, t.TempDir()
	long := strings.Repeat("\x01", 2<<10) // six bytes each in the file
	_, err := a.Pause(t.Context(), state, ledger.Pause{Since: time.Now(), Reason: long})
	ok(t, err)
	if p := a.Paused(state, clock("b", 1)); p == nil || p.Reason != long {
		t.Errorf("pause: %v", p)
	}
	if _, err := a.Pause(t.Context(), state, ledger.Pause{Since: time.Now(), Reason: long + "x"}); err == nil || !strings.Contains(err.Error(), "the reason is too long") {
		t.Errorf("a longer one: %v", err)
	}
}

// TestPauseEnds by the machine's own count within a boot, against the wall clock; by the wall clock otherwise.
func TestPauseEnds(t *testing.T) {
	t.Parallel()
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		p     ledger.Pause
		boot  string
		up    float64
		holds bool
	}{
		"no end":                                {ledger.Pause{}, "b", 1e9, true},
		"its time is not over":                  {ledger.Pause{Until: &future, BootID: "b", UntilUp: 100}, "b", 99, true},
		"its time is over":                      {ledger.Pause{Until: &past, BootID: "b", UntilUp: 100}, "b", 100, false},
		"the wall clock was set ahead":          {ledger.Pause{Until: &past, BootID: "b", UntilUp: 100}, "b", 99, true},
		"the wall clock was put back":           {ledger.Pause{Until: &future, BootID: "b", UntilUp: 100}, "b", 101, false},
		"after another boot, not over":          {ledger.Pause{Until: &future, BootID: "b", UntilUp: 100}, "c", 500, true},
		"after another boot, over":              {ledger.Pause{Until: &past, BootID: "b", UntilUp: 100}, "c", 1, false},
		"the boot is not known, not over":       {ledger.Pause{Until: &future, BootID: "b", UntilUp: 100}, "", 0, true},
		"it was placed without a boot, is over": {ledger.Pause{Until: &past}, "b", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, state := ledger.Acting{Home: t.TempDir()}, t.TempDir()
			c.p.Since = time.Now().Add(-2 * time.Hour)
			_, err := a.Pause(t.Context(), state, c.p)
			ok(t, err)
			if p := a.Paused(state, clock(c.boot, c.up)); (p != nil) != c.holds {
				t.Errorf("holds: %v, want %v", p, c.holds)
			}
		})
	}
}

// TestPauseThatCannotBeRead holds, and says which file it is.
func TestPauseThatCannotBeRead(t *testing.T) {
	t.Parallel()
	long, err := json.Marshal(ledger.Pause{Since: time.Now(), Reason: strings.Repeat("x", 32<<10)})
	ok(t, err)
	for name, make := range map[string]func(path string) error{
		"half a file": func(p string) error { return os.WriteFile(p, []byte(`{"since":`), 0o600) },
		"empty":       func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"of another":  func(p string) error { return os.WriteFile(p, []byte(`{"reason":"x"}`), 0o600) },
		"too long":    func(p string) error { return os.WriteFile(p, long, 0o600) },
		"a folder":    func(p string) error { return os.Mkdir(p, 0o700) },
		"a link":      func(p string) error { return os.Symlink("elsewhere", p) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, state := ledger.Acting{Home: t.TempDir()}, t.TempDir()
			path := a.PausePath(state)
			ok(t, os.MkdirAll(filepath.Dir(path), 0o700))
			ok(t, make(path))
			if p := a.Paused(state, clock("b", 1)); p == nil || !strings.Contains(p.Error(), path) {
				t.Errorf("pause: %v", p)
			}
			if was, err := a.Resume(state); err != nil || !was {
				t.Errorf("resume: %v, %v", was, err)
			}
		})
	}
}

// TestFresh: what happened while nothing looked, no look knows.
func TestFresh(t *testing.T) {
	t.Parallel()
	const jump, gap = 10 * time.Second, 16 * time.Minute
	prev := &ledger.Look{At: t0, BootID: "b1", UpSeconds: new(3600.0), AwakeSeconds: new(3000.0)}
	for name, c := range map[string]struct {
		prev      *ledger.Look
		boot      string
		up, awake *float64
		wall      time.Duration
		want      string
	}{
		"nothing happened":            {prev, "b1", new(3660.0), new(3060.0), time.Minute, ""},
		"the first look":              {nil, "b1", new(3660.0), new(3060.0), time.Minute, ""},
		"another boot":                {prev, "b2", new(30.0), new(30.0), time.Minute, "the machine booted"},
		"it slept":                    {prev, "b1", new(3660.0), new(3030.0), time.Minute, "the machine was suspended"},
		"the clock was set ahead":     {prev, "b1", new(3660.0), new(3060.0), time.Hour, "the clock was set"},
		"the clock was set back":      {prev, "b1", new(3660.0), new(3060.0), -time.Hour, "the clock was set"},
		"up to the gap":               {prev, "b1", new(3600.0 + 16*60), new(3000.0 + 16*60), 16 * time.Minute, ""},
		"nothing looked for long":     {prev, "b1", new(3600.0 + 17*60), new(3000.0 + 17*60), 17 * time.Minute, "nothing looked for 17m0s"},
		"its count is not known":      {prev, "b1", nil, new(3060.0), time.Minute, "the machine's own count of time is not known"},
		"its boot is not known":       {prev, "", new(3660.0), new(3060.0), time.Minute, "the machine's own count of time is not known"},
		"the last look's was unknown": {&ledger.Look{At: t0, BootID: "b1"}, "b1", new(3660.0), new(3060.0), time.Minute, "the machine's own count of time is not known"},
	} {
		if got := ledger.Fresh(c.prev, snapshot.Host{BootID: c.boot, UpSeconds: c.up, AwakeSeconds: c.awake}, t0.Add(c.wall), jump, gap); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestASameSweep is one sweep more, by which the decisions that stood are still those of the last whole one.
func TestASameSweep(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	ok(t, l.BeginSweep(ctx, ledger.Sweep{ID: "s1", Started: t0}))
	ok(t, l.SaveDecisions(ctx, "s1", some(3)))
	ok(t, l.SameSweep(ctx, ledger.Sweep{ID: "s2", Started: t0.Add(time.Minute), Mode: "observe", Revision: "r", Digest: "d", Sources: map[string]int{"a": 1}}, t0.Add(time.Minute+time.Second), map[string]int{"x": 1}, 0))
	all, err := l.Sweeps(ctx, time.Time{})
	ok(t, err)
	if len(all) != 2 || all[0].ID != "s2" || all[0].Finished == nil || all[0].Revision != "r" {
		t.Fatalf("sweeps: %+v", all)
	}
	one, err := l.Decisions(ctx, "s1")
	ok(t, err)
	two, err := l.Decisions(ctx, "s2")
	ok(t, err)
	if len(one) != 3 || len(two) != 3 {
		t.Errorf("%d decisions at the whole sweep, %d at the short one, want 3 and 3", len(one), len(two))
	}
	if err := l.SameSweep(ctx, ledger.Sweep{ID: "s2", Started: t0}, t0, nil, 0); err == nil {
		t.Error("one sweep was recorded twice")
	}
}

// TestBrakesAreKept for the next start of the daemon.
func TestBrakesAreKept(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	got := map[string]int{"before": 1}
	ok(t, l.Brakes(ctx, &got))
	if len(got) != 1 {
		t.Errorf("nothing was saved, and %v was read", got)
	}
	for _, want := range []int{1, 2} {
		ok(t, l.SaveBrakes(ctx, map[string]int{"held": want}))
		got = nil
		ok(t, l.Brakes(ctx, &got))
		if got["held"] != want {
			t.Errorf("saved %d, read %v", want, got)
		}
	}
}

// TestUnlockedWhileAChildHasTheFile: a child between fork and exec has the file of the lock open, and does not keep the lock.
func TestUnlockedWhileAChildHasTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := ledger.Lock(path)
	ok(t, err)
	// The same open file as the holder's, as a fork gives it: by its descriptor in /proc it would be another one.
	copied := -1
	for fd := range 4096 {
		if to, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil && to == path {
			copied, err = syscall.Dup(fd)
			ok(t, err)
			break
		}
	}
	if copied < 0 {
		t.Fatal("the file is not open")
	}
	defer syscall.Close(copied)
	var held *ledger.Held
	if _, err := ledger.Lock(path); !errors.As(err, &held) {
		t.Fatalf("it was taken twice: %v", err)
	}
	ok(t, unlock())
	again, err := ledger.Lock(path)
	ok(t, err)
	ok(t, again())
}
