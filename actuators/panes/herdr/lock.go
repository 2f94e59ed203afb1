package herdr

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
)

// lockPause is how often a lock that another program holds is tried again.
const lockPause = 10 * time.Millisecond

// lock takes the lock of those who close tabs. The kernel lets go of it when the file is closed, also when this process is
// killed; processes that it starts do not inherit it.
func (a *Actuator) lock(ctx context.Context) (*os.File, error) {
	if a.Lock == "" {
		return nil, actuators.Refused("no lock file is set, and without one two programs could close a workspace's last two tabs")
	}
	if err := os.MkdirAll(filepath.Dir(a.Lock), 0o700); err != nil {
		return nil, actuators.Refused("make the folder of the lock on closing tabs: %w; nothing was touched", err)
	}
	deadline := time.Now().Add(a.LockWait)
	for {
		f, err := tryLock(a.Lock)
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, unix.EWOULDBLOCK):
			return nil, actuators.Refused("take the lock on closing tabs: %w; nothing was touched", err)
		case ctx.Err() != nil:
			return nil, actuators.Refused("wait for the lock on closing tabs %s: %w; nothing was touched", a.Lock, context.Cause(ctx))
		case !time.Now().Before(deadline):
			return nil, actuators.Refused("another program is closing a tab; it holds the lock %s, and nothing was touched: the next sweep tries again", a.Lock)
		}
		time.Sleep(lockPause)
	}
}

// tryLock wraps EWOULDBLOCK where another program has the lock, or where the file was replaced meanwhile: a lock on a file that
// lost its name keeps no program out.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		err = leadsTo(f, path)
	}
	if err != nil {
		return nil, errors.Join(&os.PathError{Op: "lock", Path: path, Err: err}, f.Close())
	}
	return f, nil
}

// leadsTo checks that path still leads to f.
func leadsTo(f *os.File, path string) error {
	is, err := f.Stat()
	if err != nil {
		return err
	}
	if !is.Mode().IsRegular() {
		return errors.New("it is no regular file")
	}
	if now, err := os.Lstat(path); err != nil || !os.SameFile(is, now) {
		return unix.EWOULDBLOCK
	}
	return nil
}
