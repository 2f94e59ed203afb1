package panes

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// errTTY says that a descriptor is not the terminal that was looked for.
var errTTY = errors.New("it is not the process's terminal")

// Typed is how many bytes wait in the process's terminal that nobody has read: what was sent to it and has not woken it yet. Of a
// terminal that hands over whole lines (ICANON) only whole lines count (n_tty_ioctl in drivers/tty/n_tty.c). Looking changes
// nothing: the terminal is opened without waiting, and becomes nobody's controlling one.
func Typed(h *Held) (int, error) {
	s, err := h.Stat()
	if err != nil {
		return 0, err
	}
	// Its own standard input leads there in whatever folder of devices the process has; most shells leave it at that.
	for _, name := range []string{"fd/0", "fd/1", "fd/2"} {
		n, err := waiting(h.dir, name, s.TTY)
		if err == nil || errors.Is(err, ErrEnded) {
			return n, err
		}
	}
	n, err := waiting(unix.AT_FDCWD, filepath.Join("/dev/pts", strconv.Itoa(minor(s.TTY))), s.TTY)
	if err != nil {
		return 0, fmt.Errorf("find out whether anything waits in the terminal of pid %d: %w", h.PID, err)
	}
	return n, nil
}

func waiting(dir int, name string, tty int) (int, error) {
	var st unix.Stat_t
	// Only what is that terminal is opened: opening other devices may do something.
	if err := unix.Fstatat(dir, name, &st, 0); err != nil {
		return 0, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR || tty == 0 || int(unix.Major(st.Rdev)) != major(tty) || int(unix.Minor(st.Rdev)) != minor(tty) {
		return 0, errTTY
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.IoctlGetInt(fd, unix.TIOCINQ)
}

// The device number in a stat's tty_nr is the kernel's 32 bits of one (new_encode_dev in include/linux/kdev_t.h).
func major(tty int) int { return tty >> 8 & 0xfff }

func minor(tty int) int { return tty&0xff | tty>>12&0xfff00 }
