// Package lock has the locks of this user's processes: of a file, of acts, and the pause of all acts. It knows nothing
// of what they guard.
package lock

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
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

// Acting is the one lock of a user on a machine under which Winnow acts, for every state folder, environment and login. It has two
// parts, and both are taken:
//
//   - A mark: a file in memory that only this process has open, and whose name /proc shows. Who acts makes its own mark first
//     and then looks for others' among this user's processes, so that of two at least one sees the other. No other
//     user can make a process of this user, so no other user can take the lock, nor keep it.
//   - A file in the user's home, for processes of the same user that /proc does not show: those of another container. The home is the one of
//     the user database, not $HOME. Without a home that only this user can write, the mark alone holds.
//
// The zero Acting is the one that the program uses.
type Acting struct {
	// Name is the mark's, Home the folder of the file and Proc the /proc that is searched. Empty is the default of each.
	Name, Home, Proc string
}

// Lock takes the lock without waiting. A *Held error says who has it. Two that try at the same moment may both get this error: try
// again after a moment that is not the same for both. The kernel releases it when this process ends, also when it is killed.
func (a Acting) Lock() (unlock func() error, err error) {
	inHome, err := a.lockHome()
	if err != nil {
		return nil, err
	}
	mark, err := a.mark()
	if err == nil {
		err = a.alone(inHome != nil)
	}
	unlock = func() error {
		var errs []error
		if mark != nil {
			errs = append(errs, mark.Close())
		}
		if inHome != nil {
			errs = append(errs, inHome())
		}
		return errors.Join(errs...)
	}
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	return unlock, nil
}

// Folder is where the file of the lock lies; empty where this user has no home.
func (a Acting) Folder() string {
	home := a.Home
	if home == "" {
		// Not user.Current: it goes by $HOME for a user who is not in the database.
		u, err := user.LookupId(strconv.Itoa(os.Geteuid()))
		if err != nil || !filepath.IsAbs(u.HomeDir) {
			return ""
		}
		home = u.HomeDir
	}
	return filepath.Join(home, ".local", "state", "winnow")
}

// SharedFolder is the folder of what counts for every state folder of this user: that of the lock of acts. Where the user has no home of their own, or cannot write it, it is
// state, and what lies there counts for that state folder alone.
func (a Acting) SharedFolder(state string) string {
	dir := a.Folder()
	if dir == "" || safeopen.Trusted(dir) != nil {
		return state
	}
	if _, err := os.Stat(filepath.Dir(filepath.Dir(filepath.Dir(dir)))); err != nil { // a home that is not there is not made
		return state
	}
	for at := dir; ; at = filepath.Dir(at) {
		if err := unix.Access(at, unix.W_OK); !errors.Is(err, unix.ENOENT) {
			if err != nil {
				return state
			}
			return dir
		}
	}
}

// lockHome takes the file. When another process holds it, that is an error. For any other reason the lock goes without this part.
func (a Acting) lockHome() (unlock func() error, err error) {
	dir := a.Folder()
	if dir == "" {
		return nil, nil
	}
	if _, err := os.Stat(filepath.Dir(filepath.Dir(filepath.Dir(dir)))); err != nil {
		return nil, nil // a home that is not there is not made
	}
	unlock, err = Take(filepath.Join(dir, "acts.lock"))
	var held *Held
	if err != nil && !errors.As(err, &held) {
		return nil, nil
	}
	return unlock, err
}

func (a Acting) markName() string { return cmp.Or(a.Name, "winnow-acts") }

func (a Acting) mark() (*os.File, error) {
	fd, err := unix.MemfdCreate(a.markName(), unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("mark this process as acting: %w", err)
	}
	return os.NewFile(uintptr(fd), a.markName()), nil
}

// alone makes sure that no other process of this user has a mark. Where this process cannot see its own, others cannot see it either, and
// the file has to do.
func (a Acting) alone(file bool) error {
	root := cmp.Or(a.Proc, "/proc")
	pids, err := proc.PIDs(root)
	if err != nil {
		return fmt.Errorf("look for another sweep that acts: %w", err)
	}
	self, err := os.Readlink(filepath.Join(root, "self")) // os.Getpid is of another pid namespace where /proc is
	if err != nil {
		return fmt.Errorf("look for another sweep that acts: %w", err)
	}
	seen := false
	for _, pid := range pids {
		since, marked := a.marked(filepath.Join(root, strconv.Itoa(pid)))
		if marked && strconv.Itoa(pid) != self {
			return &Held{Path: "of this user's acts", PID: pid, Since: since}
		}
		seen = seen || marked
	}
	if !seen && !file {
		return fmt.Errorf("look for another sweep that acts: %s does not show what this process has open, and this user has no home "+
			"that only this user can write. Two sweeps could act at the same time", root)
	}
	return nil
}

// marked says whether a process of this user has a mark, and since when. One that ends meanwhile has none; what another user's, or one
// that may not be looked into, has open is not a concern: it is not a process of this program and this user.
func (a Acting) marked(process string) (since time.Time, ok bool) {
	st, err := os.Stat(process)
	if err != nil || safeopen.Owner(st) != os.Geteuid() {
		return since, false
	}
	fds, _ := proc.List(unix.AT_FDCWD, filepath.Join(process, "fd"), make([]byte, 8<<10))
	for _, fd := range fds {
		link := filepath.Join(process, "fd", strconv.Itoa(fd))
		to, err := os.Readlink(link)
		if err != nil || strings.TrimSuffix(to, " (deleted)") != "/memfd:"+a.markName() {
			continue
		}
		var st unix.Stat_t
		if unix.Stat(link, &st) == nil {
			since = time.Unix(st.Ctim.Unix())
		}
		return since, true
	}
	return since, false
}

// Pause says that nothing may act for this user until a person resumes, or until its time is over.
type Pause struct {
	Since time.Time `json:"since"`
	// Until is when it ends by itself; nil is not before somebody resumes.
	Until  *time.Time `json:"until,omitempty"`
	Reason string     `json:"reason,omitempty"`
	// BootID and UntilUp are the boot in which it began, and how many seconds after that boot it ends, by the machine's own count: a clock that is set
	// neither ends a pause nor makes it longer. After another boot Until counts.
	BootID  string  `json:"boot_id,omitempty"`
	UntilUp float64 `json:"until_up,omitempty"`
}

// Error makes it the cause for which acts are not tried.
func (p *Pause) Error() string {
	text := "paused"
	if !p.Since.IsZero() {
		text += " since " + p.Since.Local().Format(time.DateTime)
	}
	if p.Until != nil {
		text += " until " + p.Until.Local().Format(time.DateTime)
	}
	if p.Reason != "" {
		text += " (" + p.Reason + ")"
	}
	return text + "; winnow resume ends the pause"
}

// expired reports whether it has ended by itself. bootID and up are the machine's now; an unknown boot leaves the wall clock alone.
func (p *Pause) expired(now time.Time, bootID string, up float64) bool {
	switch {
	case p.Until == nil:
		return false
	case bootID != "" && bootID == p.BootID && p.UntilUp > 0:
		return up >= p.UntilUp
	}
	return !now.Before(*p.Until)
}

const pauseName = "paused.json"

// maxPause bounds the file of a pause, and maxReason the reason in it, in bytes: each of them may take six in the file.
const (
	maxPause  = 16 << 10
	maxReason = 2 << 10
)

// PausePath is the file of a user's pause: beside the file of the lock of acts, so that it counts for every state folder, environment and login. Where the user has no
// home of their own, or cannot write it, it is state's, and counts for that state folder alone.
func (a Acting) PausePath(state string) string {
	return filepath.Join(a.SharedFolder(state), pauseName)
}

// Paused gives the pause that holds now, nil when it is missing. A file that cannot be read, or that is no pause, counts as one without an end: the user may have meant
// to stop everything. So does a file of the user's whose folder others may write by now, or that was written for the state folder alone before there was a home.
func (a Acting) Paused(state string, machine func() (bootID string, up float64)) *Pause {
	for _, path := range a.pausePaths(state) {
		if p := pausedBy(path, machine); p != nil {
			return p
		}
	}
	return nil
}

// pausePaths are the files in which there may be a pause: that of PausePath, and the user's or the state folder's, if there is one.
func (a Acting) pausePaths(state string) []string {
	paths := []string{a.PausePath(state)}
	for _, dir := range []string{a.Folder(), state} {
		path := filepath.Join(dir, pauseName)
		if dir == "" || path == paths[0] {
			continue
		}
		if _, err := os.Lstat(path); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

func pausedBy(path string, machine func() (bootID string, up float64)) *Pause {
	f, err := safeopen.ReadNow(path, safeopen.Want{Max: maxPause, Ruling: true})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, safeopen.ErrAbsent) {
		return nil
	}
	var p Pause
	if err == nil {
		err = json.Unmarshal(f.Data, &p)
	}
	// A pause that was written has a since.
	if err == nil && p.Since.IsZero() {
		err = errors.New("it says not since when")
	}
	if err != nil {
		return &Pause{Reason: fmt.Sprintf("the file of the pause %s cannot be read: %v", path, err)}
	}
	bootID, up := machine()
	if p.expired(time.Now(), bootID, up) {
		return nil
	}
	return &p
}

// Pause stops all acts of this user. A second pause takes the first one's place.
func (a Acting) Pause(ctx context.Context, state string, p Pause) (path string, err error) {
	path = a.PausePath(state)
	if len(p.Reason) > maxReason {
		return path, fmt.Errorf("pause: the reason is too long: %d bytes, and %d are the most", len(p.Reason), maxReason)
	}
	if err := safeopen.MakeTrusted(filepath.Dir(path)); err != nil {
		return path, fmt.Errorf("pause: the folder %s: %w", filepath.Dir(path), err)
	}
	err = atomicfile.Write(ctx, path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(p)
	})
	if err != nil {
		return path, fmt.Errorf("pause: %w", err)
	}
	return path, nil
}

// Resume ends the pause, and reports whether there was one.
func (a Acting) Resume(state string) (bool, error) {
	was := false
	for _, path := range a.pausePaths(state) {
		err := os.Remove(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return was, fmt.Errorf("resume: %w; the pause still holds", err)
		}
		was = was || err == nil
	}
	return was, nil
}
