package proc

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Held is one process that cannot become another one unnoticed. An open /proc/N folder stays that process's: once it has ended,
// reads through it fail with ESRCH, and a signal sent to it reaches no other process, even when the number was given away.
type Held struct {
	PID int
	// Was is its stat when it was held.
	Was Stat
	// Inode is the pidfs inode, which no other process of this boot has; 0 on kernels before 6.9, where all pidfds share one.
	Inode uint64
	dir   int
	// pidfd is readable once the process has ended; dir cannot be waited for.
	pidfd int
}

// Hold takes hold of pid until Close. It wraps ErrEnded where there is no such process, or only a zombie. procRoot must show the
// pid namespace of this process.
func Hold(procRoot string, pid int) (*Held, error) {
	// An O_PATH descriptor would not do: pidfd_send_signal(2) refuses it.
	dir, err := openFolder(filepath.Join(procRoot, strconv.Itoa(pid)))
	if err != nil {
		return nil, fmt.Errorf("hold pid %d: %w", pid, AsEnded(err))
	}
	h := &Held{PID: pid, dir: dir, pidfd: -1}
	if h.pidfd, err = unix.PidfdOpen(pid, 0); err != nil {
		err = fmt.Errorf("open pidfd: %w", err)
	} else if h.Was, err = h.Stat(); err == nil { // as reading through the folder still works, both are of one process
		h.Inode, err = Inode(h.pidfd)
	}
	if err != nil {
		h.Close()
		return nil, fmt.Errorf("hold pid %d: %w", pid, AsEnded(err))
	}
	return h, nil
}

// Inode is the pidfs inode behind a pidfd, 0 on kernels without pidfs.
func Inode(pidfd int) (uint64, error) {
	var fs unix.Statfs_t
	var st unix.Stat_t
	if err := errors.Join(unix.Fstatfs(pidfd, &fs), unix.Fstat(pidfd, &st)); err != nil {
		return 0, fmt.Errorf("read the pidfs inode: %w", err)
	}
	if fs.Type != unix.PID_FS_MAGIC {
		return 0, nil
	}
	return st.Ino, nil
}

// Close lets go. Nothing can be read or signalled through h any more.
func (h *Held) Close() {
	_ = unix.Close(h.dir)
	if h.pidfd >= 0 {
		_ = unix.Close(h.pidfd)
	}
	h.dir, h.pidfd = -1, -1
}

// FDs are the open folder, and a pidfd of the same process. They are h's until Close.
func (h *Held) FDs() (dir, pidfd int) { return h.dir, h.pidfd }

// AsEnded is ErrEnded for every error that says so, and err itself otherwise.
func AsEnded(err error) error {
	if Ended(err) {
		return ErrEnded
	}
	return err
}

// Stat reads the process afresh. It gives ErrEnded once the process has ended; nothing of it is then true any more.
func (h *Held) Stat() (Stat, error) {
	text, err := ReadOnce(h.dir, "stat", make([]byte, 2048))
	if err != nil {
		return Stat{}, AsEnded(fmt.Errorf("read stat: %w", err))
	}
	s, err := ParseStat(text)
	switch {
	case err != nil:
		return s, fmt.Errorf("read stat: %w", err)
	case s.Ended():
		return s, ErrEnded
	}
	return s, nil
}

// Ended reports whether the process has positively ended.
func (h *Held) Ended() bool {
	_, err := h.Stat()
	return errors.Is(err, ErrEnded)
}

// maxFile is more than any file of a process that is read whole.
const maxFile = 64 << 20

// Read reads a file of the process whole. It gives ErrEnded where the process has ended, or has no such file.
func (h *Held) Read(name string) ([]byte, error) {
	text, err := Read(h.dir, name, make([]byte, 8<<10), maxFile) // most are shorter, and then read at once
	if err != nil {
		return nil, AsEnded(fmt.Errorf("read %s: %w", name, err))
	}
	return text, nil
}

// PSS is the proportional set size in bytes: its own memory, and of what it shares with others its part (proc_pid_smaps(5)). Its errors are
// those of Read.
func (h *Held) PSS() (int64, error) {
	text, err := h.Read("smaps_rollup")
	if err != nil {
		return 0, err
	}
	return parsePSS(text)
}

// PSS is Held.PSS of a process by its number. Only its own user and root may read it.
func PSS(root string, pid int) (int64, error) {
	text, err := os.ReadFile(filepath.Join(root, strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return 0, err
	}
	return parsePSS(text)
}

func parsePSS(text []byte) (int64, error) {
	f, ok := statusField(text, "Pss")
	if !ok || len(f) != 2 || string(f[1]) != "kB" {
		return 0, errors.New("smaps_rollup has no line Pss in kB")
	}
	n, err := strconv.ParseInt(string(f[0]), 10, 54)
	return n << 10, err
}

// Link is what a link of the process leads to. Its errors are those of Read.
func (h *Held) Link(name string) (string, error) {
	text, err := Readlink(h.dir, name, make([]byte, unix.PathMax+1))
	if err != nil {
		return "", AsEnded(fmt.Errorf("read %s: %w", name, err))
	}
	return string(text), nil
}

// Owner is the process's effective user, also of one that lets no other process trace it.
func (h *Held) Owner() (uid int, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(h.dir, &st); err != nil {
		return 0, AsEnded(fmt.Errorf("read owner: %w", err))
	}
	return int(st.Uid), nil
}

// Turns counts how often the process's first thread has given up the processor (voluntary_ctxt_switches and its like in
// proc_pid_status(5)). While the count stands still and the thread sleeps, it has done nothing at all in between: all that is
// typed wakes the shell that reads it, also what starts no process.
func (h *Held) Turns() (uint64, error) {
	text, err := h.Read("status")
	if err != nil {
		return 0, err
	}
	var sum uint64
	for _, name := range []string{"voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"} {
		n, err := strconv.ParseUint(Word(text, name), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read status: how often the process has run: %w", err)
		}
		sum += n
	}
	return sum, nil
}

// Typed is how many bytes wait unread in the process's terminal: what was sent to it and has not woken it yet. Of a
// terminal that hands over whole lines (ICANON) only whole lines count (n_tty_ioctl in drivers/tty/n_tty.c). Looking changes
// nothing: the terminal is opened without waiting, and does not become this process's controlling one.
func (h *Held) Typed() (int, error) {
	s, err := h.Stat()
	if err != nil {
		return 0, err
	}
	// Its own standard input leads there whichever folder of devices the process has; most shells leave it at that.
	for _, name := range []string{"fd/0", "fd/1", "fd/2"} {
		n, err := waiting(h.dir, name, s.TTY)
		if err == nil {
			return n, nil
		}
	}
	_, minor := device(s.TTY)
	n, err := waiting(unix.AT_FDCWD, filepath.Join("/dev/pts", strconv.Itoa(minor)), s.TTY)
	if err != nil {
		return 0, fmt.Errorf("find out whether input waits in the terminal of pid %d: %w", h.PID, err)
	}
	return n, nil
}

func waiting(dir int, name string, tty int) (int, error) {
	var st unix.Stat_t
	// Only what is that terminal is opened: opening other devices may do something.
	if err := unix.Fstatat(dir, name, &st, 0); err != nil {
		return 0, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR || tty == 0 || st.Rdev != Device(tty) {
		return 0, errors.New("it is not the process's terminal")
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.IoctlGetInt(fd, unix.TIOCINQ)
}

// Alive reports whether the process with that pid and start, in clock ticks since boot, is there. Only a false without an error
// says that it is not.
func Alive(procRoot string, pid int, ticks uint64) (bool, error) {
	h, err := Hold(procRoot, pid)
	if errors.Is(err, ErrEnded) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	h.Close()
	return h.Was.Start == ticks, nil
}

// Digest is how a command line is remembered: SHA-256 over the boot id and the bytes of cmdline as they are, in hexadecimal. The boot id
// keeps it from being looked up. No bytes prove nothing, and have no digest: the kernel gives no bytes for a command line that it could
// not reach.
func Digest(bootID string, cmdline []byte) string {
	if bootID == "" || len(cmdline) == 0 {
		return ""
	}
	h := sha256.New()
	h.Write([]byte(bootID))
	h.Write(cmdline)
	return hex.EncodeToString(h.Sum(nil))
}

// BootID is the id of this boot, as the procfs at procRoot has it.
func BootID(procRoot string) (string, error) {
	text, err := os.ReadFile(filepath.Join(procRoot, "sys/kernel/random/boot_id"))
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	id := string(bytes.TrimSpace(text))
	if id == "" {
		return "", errors.New("read boot id: it is empty")
	}
	return id, nil
}

// Namespace is the inode in a link such as pid:[4026531836], nil for any other text.
func Namespace(link string) *uint64 {
	_, rest, _ := strings.Cut(link, ":[")
	n, err := strconv.ParseUint(strings.TrimSuffix(rest, "]"), 10, 64)
	if err != nil {
		return nil
	}
	return &n
}
