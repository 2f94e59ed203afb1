package lock

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

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
		return fmt.Errorf("look for another sweep that acts: %s does not show what this process has open, and this user has no home that only this user can write, "+
			"so that two sweeps could act at the same time", root)
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
