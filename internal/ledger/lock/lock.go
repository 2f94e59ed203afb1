// Package lock has the locks of this user's processes: of a file, of acts, and the pause of all acts. It knows nothing
// of what they guard.
package lock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// Held says that another process holds the lock.
type Held struct {
	Path string `json:"-"`
	// PID and Since are what the holder wrote down: its process and when it took the lock. PID is 0 where it has not written
	// that yet.
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

func (h *Held) Error() string {
	if h.PID == 0 {
		return fmt.Sprintf("take lock %s: another sweep has just begun; nothing was done, try again", h.Path)
	}
	return fmt.Sprintf("take lock %s: process %d has been sweeping since %s; nothing was done, try again when it has finished",
		h.Path, h.PID, h.Since.Local().Format(time.DateTime))
}

// Take takes the lock at path without waiting, in a folder that must be this user's alone to write. A *Held error says who has it.
// The kernel releases it when this process ends, also when it is killed; processes that it starts do not inherit it. The file stays:
// removing it would let two processes lock two files of one name.
func Take(path string) (unlock func() error, err error) {
	if err := safeopen.MakeTrusted(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("take lock: the folder %s: %w; give this user a folder with --state", filepath.Dir(path), err)
	}
	f, err := openLock(path)
	if err != nil {
		return nil, fmt.Errorf("take lock: %w", err)
	}
	err = flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		held := &Held{Path: path}
		// What cannot be read stays unknown: the holder may be writing just now.
		if text, err := io.ReadAll(io.NewSectionReader(f, 0, maxSigned)); err != nil || json.Unmarshal(text, held) != nil {
			held = &Held{Path: path}
		}
		return nil, errors.Join(held, f.Close())
	}
	if err == nil {
		err = errors.Join(leadsTo(f, path), sign(f))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("take lock %s: %w", path, err), f.Close())
	}
	return func() error {
		// Closing is not enough: a child that another goroutine is just making has the file open until it executes its program, and with it the lock.
		return errors.Join(flock(f, syscall.LOCK_UN), f.Close())
	}, nil
}

// maxSigned bounds what is read of a holder's words, in bytes.
const maxSigned = 4 << 10

// openLock opens the file, or makes it. Only this user may open it: every user who can read a file can take a flock(2) on it.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	switch {
	case err != nil:
	case !st.Mode().IsRegular():
		err = &fs.PathError{Op: "lock", Path: path, Err: safeopen.ErrNotRegular}
	case safeopen.Owner(st) != os.Geteuid():
		err = &fs.PathError{Op: "lock", Path: path, Err: safeopen.ErrOwner}
	case st.Mode().Perm()&0o077 != 0:
		err = f.Chmod(0o600)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// IsHeld reports whether a process holds the lock at path.
func IsHeld(path string) (bool, error) {
	f, err := openLock(path)
	if err != nil {
		return false, err
	}
	err = flock(f, syscall.LOCK_SH|syscall.LOCK_NB)
	held := errors.Is(err, syscall.EWOULDBLOCK)
	if held {
		err = nil
	}
	return held, errors.Join(err, f.Close())
}

// leadsTo makes sure that the file has its name still: a lock on a file that was replaced keeps no other program out.
func leadsTo(f *os.File, path string) error {
	here, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := os.Lstat(path)
	if err == nil && !os.SameFile(here, there) {
		err = errors.New("the file was replaced meanwhile; try again")
	}
	return err
}

// flock waits for no one, but a signal may interrupt even that.
func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// sign writes down who holds the lock. Who reads in between finds nothing, and says so.
func sign(f *os.File) error {
	text, err := json.Marshal(Held{PID: os.Getpid(), Since: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(text, '\n'), 0)
	return err
}
