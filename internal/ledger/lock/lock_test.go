package lock_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state", "lock")
	began := time.Now().Add(-time.Second)
	unlock := must.Get(lock.Take(path))(t)
	_, err := lock.Take(path)
	var held *lock.Held
	if !errors.As(err, &held) {
		t.Fatalf("a second lock gave %v; want *Held", err)
	}
	if held.PID != os.Getpid() || held.Since.Before(began) || held.Path != path {
		t.Errorf("held %+v; want this process, since now", held)
	}
	if !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("%q does not name the holder", err)
	}
	// A process that is started meanwhile does not keep the lock.
	child := exec.Command("sleep", "30")
	must.Do(t, child.Start())
	defer func() { child.Process.Kill(); child.Wait() }()
	must.Do(t, unlock())
	unlock = must.Get(lock.Take(path))(t)
	must.Do(t, unlock())
}

// A lock whose holder has not yet written down who it is, or wrote rubbish, is held all the same.
func TestLockWithoutAName(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock := must.Get(lock.Take(path))(t)
	defer unlock()
	for _, text := range []string{"", "{", `{"pid":"x"}`} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := lock.Take(path)
		var held *lock.Held
		if !errors.As(err, &held) || held.PID != 0 || held.Path != path {
			t.Errorf("with %q: got %v; want held by an unknown process", text, err)
		}
	}
}
