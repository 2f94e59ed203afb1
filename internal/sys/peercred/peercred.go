// Package peercred makes sure who is at the other end of a socket before a byte is sent there or a program is run on it.
//
// A socket's path or port is only a name: another user of the machine may have taken it first. The kernel knows who made a
// socket, who listens on it and who took a connection; that is asked here, and unknown is never taken for one's own.
package peercred

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// The reasons for which a socket is refused besides those of package foreign. A missing one is fs.ErrNotExist, and one on which
// no process listens unix.ECONNREFUSED.
var (
	ErrNotSocket = errors.New("it is no socket")
	ErrOther     = errors.New("it belongs to another user")
	ErrUnknown   = errors.New("its owner is unknown")
	ErrFolder    = errors.New("tmux's folder of sockets must be this user's own, with no rights for others: see who owns it, then remove it or chmod 700 it")
)

// Refused reports whether err says that a socket is not to be trusted, or that this cannot be found out: not that it is missing, or that
// something went wrong on the way to it.
func Refused(err error) bool {
	whys := []error{ErrOther, ErrUnknown, ErrFolder, safeopen.ErrOwner, safeopen.ErrWritable, safeopen.ErrLink, safeopen.ErrNotFolder}
	return slices.ContainsFunc(whys, func(why error) bool { return errors.Is(err, why) })
}

// mine reports whether uid, as the kernel shows it to this process, is this user: root's own is not everybody's. It gives
// ErrUnknown where it shows that same number for users whom this user namespace does not know.
func mine(uid uint32) (bool, error) {
	if int(uid) != os.Geteuid() {
		return false, nil
	}
	if ambiguous(uid) {
		return false, ErrUnknown
	}
	return true, nil
}

// ambiguous reports whether uid is the one that stands for every user without a number here (user_namespaces(7)).
func ambiguous(uid uint32) bool {
	overflow := uint64(65534)
	if text, err := os.ReadFile("/proc/sys/kernel/overflowuid"); err == nil {
		if n, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 32); err == nil {
			overflow = n
		}
	}
	if uint64(uid) != overflow {
		return false
	}
	text, err := os.ReadFile("/proc/self/uid_map")
	f := bytes.Fields(text)
	// Where every number has a user, none stands for others.
	return err != nil || len(f) != 3 || string(f[0]) != "0" || string(f[2]) != "4294967295"
}

func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
