package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
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

// Lock takes the lock at path, of which there is one a user on a machine, without waiting. A *Held error says who has it. The
// kernel lets go of it when this process ends in whatever way; processes that it starts do not inherit it. The file stays:
// removing it would let two processes lock two files of one name.
func Lock(path string) (unlock func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("take lock: make the state folder: %w; give this user a folder with --state", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("take lock: %w", err)
	}
	err = flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		held := &Held{Path: path}
		// What cannot be read stays unknown: the holder may be writing just now.
		if text, err := os.ReadFile(path); err != nil || json.Unmarshal(text, held) != nil {
			held = &Held{Path: path}
		}
		return nil, errors.Join(held, f.Close())
	}
	if err == nil {
		err = sign(f)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("take lock %s: %w", path, err), f.Close())
	}
	return f.Close, nil
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
