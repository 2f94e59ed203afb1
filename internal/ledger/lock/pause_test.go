package lock_test

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

	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// clock gives the boot and its age.
func clock(boot string, up float64) func() (string, float64) {
	return func() (string, float64) { return boot, up }
}

func TestPause(t *testing.T) {
	t.Parallel()
	a, state := lock.Acting{Home: t.TempDir()}, t.TempDir()
	path, err := a.Pause(t.Context(), state, lock.Pause{Since: time.Now(), Reason: "a migration"})
	must.Do(t, err)
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
	path, err = a.Pause(t.Context(), state, lock.Pause{Since: time.Now()})
	must.Do(t, err)
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
	a, state := lock.Acting{Home: t.TempDir()}, t.TempDir()
	_, err := a.Pause(t.Context(), state, lock.Pause{Since: time.Now()})
	must.Do(t, err)
	must.Do(t, os.Chmod(a.Folder(), 0o777))
	if a.Paused(state, clock("b", 1)) == nil {
		t.Error("it ended when others might write to its folder")
	}
	if was, err := a.Resume(state); err != nil || !was || a.Paused(state, clock("b", 1)) != nil {
		t.Errorf("resume: %v, %v", was, err)
	}
	// Now it is placed for the state folder alone.
	path, err := a.Pause(t.Context(), state, lock.Pause{Since: time.Now()})
	must.Do(t, err)
	if filepath.Dir(path) != state {
		t.Errorf("the file is %s", path)
	}
	must.Do(t, os.Chmod(a.Folder(), 0o700))
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
	a, state := lock.Acting{Home: t.TempDir()}, t.TempDir()
	long := strings.Repeat("\x01", 2<<10) // six bytes each in the file
	_, err := a.Pause(t.Context(), state, lock.Pause{Since: time.Now(), Reason: long})
	must.Do(t, err)
	if p := a.Paused(state, clock("b", 1)); p == nil || p.Reason != long {
		t.Errorf("pause: %v", p)
	}
	if _, err := a.Pause(t.Context(), state, lock.Pause{Since: time.Now(), Reason: long + "x"}); err == nil || !strings.Contains(err.Error(), "the reason is too long") {
		t.Errorf("a longer one: %v", err)
	}
}

// TestPauseEnds by the machine's own count within a boot, against the wall clock; by the wall clock otherwise.
func TestPauseEnds(t *testing.T) {
	t.Parallel()
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		p     lock.Pause
		boot  string
		up    float64
		holds bool
	}{
		"no end":                                {lock.Pause{}, "b", 1e9, true},
		"its time is not over":                  {lock.Pause{Until: &future, BootID: "b", UntilUp: 100}, "b", 99, true},
		"its time is over":                      {lock.Pause{Until: &past, BootID: "b", UntilUp: 100}, "b", 100, false},
		"the wall clock was set ahead":          {lock.Pause{Until: &past, BootID: "b", UntilUp: 100}, "b", 99, true},
		"the wall clock was put back":           {lock.Pause{Until: &future, BootID: "b", UntilUp: 100}, "b", 101, false},
		"after another boot, not over":          {lock.Pause{Until: &future, BootID: "b", UntilUp: 100}, "c", 500, true},
		"after another boot, over":              {lock.Pause{Until: &past, BootID: "b", UntilUp: 100}, "c", 1, false},
		"the boot is not known, not over":       {lock.Pause{Until: &future, BootID: "b", UntilUp: 100}, "", 0, true},
		"it was placed without a boot, is over": {lock.Pause{Until: &past}, "b", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, state := lock.Acting{Home: t.TempDir()}, t.TempDir()
			c.p.Since = time.Now().Add(-2 * time.Hour)
			must.Get(a.Pause(t.Context(), state, c.p))(t)
			if p := a.Paused(state, clock(c.boot, c.up)); (p != nil) != c.holds {
				t.Errorf("holds: %v, want %v", p, c.holds)
			}
		})
	}
}

// TestPauseThatCannotBeRead holds, and says which file it is.
func TestPauseThatCannotBeRead(t *testing.T) {
	t.Parallel()
	long, err := json.Marshal(lock.Pause{Since: time.Now(), Reason: strings.Repeat("x", 32<<10)})
	must.Do(t, err)
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
			a, state := lock.Acting{Home: t.TempDir()}, t.TempDir()
			path := a.PausePath(state)
			must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
			must.Do(t, make(path))
			if p := a.Paused(state, clock("b", 1)); p == nil || !strings.Contains(p.Error(), path) {
				t.Errorf("pause: %v", p)
			}
			if was, err := a.Resume(state); err != nil || !was {
				t.Errorf("resume: %v, %v", was, err)
			}
		})
	}
}

// TestUnlockedWhileAChildHasTheFile: a child between fork and exec has the file of the lock open, and does not keep the lock.
func TestUnlockedWhileAChildHasTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock := must.Get(lock.Take(path))(t)
	// The same open file as the holder's, as a fork gives it: by its descriptor in /proc it would be another one.
	copied := -1
	for fd := range 4096 {
		if to, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil && to == path {
			copied = must.Get(syscall.Dup(fd))(t)
			break
		}
	}
	if copied < 0 {
		t.Fatal("the file is not open")
	}
	defer syscall.Close(copied)
	var held *lock.Held
	if _, err := lock.Take(path); !errors.As(err, &held) {
		t.Fatalf("it was taken twice: %v", err)
	}
	must.Do(t, unlock())
	again := must.Get(lock.Take(path))(t)
	must.Do(t, again())
}
