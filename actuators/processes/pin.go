package processes

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"winnow/actuators"
	"winnow/engine/decision"
)

// pin holds one process. While dir is open, nothing that is read through it or signalled through it can be another process:
// once the process is reaped, both answer ESRCH even when its number was given away.
type pin struct {
	pid int
	// dir is /proc/<pid>, and fd a pidfd of the same process.
	dir, fd int
	// inode is the pidfd's, unique in a boot; 0 on kernels before 6.9, where all pidfds share one.
	inode uint64
}

// openPin takes hold of the process that has the number now. ErrGone says that none has.
func openPin(root string, pid int) (*pin, error) {
	if pid <= 1 {
		return nil, actuators.Refused("pid %d is never signalled", pid)
	}
	// An O_PATH descriptor would not do: pidfd_send_signal(2) refuses it.
	dir, err := unix.Open(filepath.Join(root, strconv.Itoa(pid)), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, lost(pid, "take hold of it", err)
	}
	p := &pin{pid: pid, dir: dir, fd: -1}
	if p.fd, err = unix.PidfdOpen(pid, 0); err == nil {
		// The directory still answers, so its process had the number all along, and the pidfd is of the same.
		_, err = p.stat()
	}
	if err != nil {
		return nil, errors.Join(lost(pid, "take hold of it", err), p.close())
	}
	p.inode, err = pidfsInode(p.fd)
	if err != nil {
		return nil, errors.Join(lost(pid, "identify it", err), p.close())
	}
	return p, nil
}

func (p *pin) close() error {
	var err error
	if p.fd >= 0 {
		err = unix.Close(p.fd)
	}
	return errors.Join(err, unix.Close(p.dir))
}

func pidfsInode(fd int) (uint64, error) {
	var fs unix.Statfs_t
	var st unix.Stat_t
	if err := errors.Join(unix.Fstatfs(fd, &fs), unix.Fstat(fd, &st)); err != nil {
		return 0, err
	}
	if fs.Type != unix.PID_FS_MAGIC {
		return 0, nil
	}
	return st.Ino, nil
}

// facts are what identifies a process, as one look through the held directory found it.
type facts struct {
	stat  stat
	uid   int
	inode uint64
	// readable by this user only with the right to trace it
	exe, cwd       string
	exeErr, cwdErr error
	argv           []byte
	argvErr        error
}

// stat reads the process's state; ErrGone says that it has ended, a zombie without living threads too.
func (p *pin) stat() (stat, error) {
	var buf [1024]byte // 52 numbers and a name are never longer; what is, is no stat
	fd, err := unix.Openat(p.dir, "stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return stat{}, lost(p.pid, "read stat", err)
	}
	n, err := unix.Read(fd, buf[:])
	unix.Close(fd)
	if err != nil {
		return stat{}, lost(p.pid, "read stat", err)
	}
	s, err := parseStat(buf[:n])
	if err != nil {
		return stat{}, lost(p.pid, "read stat", err)
	}
	if s.dead() {
		return s, actuators.Gone("pid %d (%s) has ended", p.pid, s.comm)
	}
	return s, nil
}

func (p *pin) read() (facts, error) {
	f := facts{inode: p.inode}
	var err error
	if f.stat, err = p.stat(); err != nil {
		return f, err
	}
	var st unix.Stat_t
	// The directory's owner is the process's effective user, also when it lets nobody trace it.
	if err := unix.Fstat(p.dir, &st); err != nil {
		return f, lost(p.pid, "read its owner", err)
	}
	f.uid = int(st.Uid)
	f.exe, f.exeErr = p.link("exe")
	f.cwd, f.cwdErr = p.link("cwd")
	f.argv, f.argvErr = p.file("cmdline")
	// Only what is read of a process that is still there proves anything: the end can come between two readings.
	if _, err := p.stat(); err != nil {
		return f, err
	}
	return f, nil
}

// compare finds the first fact that is not as want has it. What want does not know is not compared.
func (f facts) compare(want decision.Process) error {
	switch {
	case f.stat.start != want.StartTicks || want.Inode != 0 && f.inode != 0 && f.inode != want.Inode:
		return actuators.Gone("pid %d (%s) has ended, and its number is another process's now, which was left untouched", want.PID, want.Name)
	case f.stat.state == 'Z':
		return actuators.Refused("pid %d (%s): its first thread has ended while others run on, so that it cannot be told what it is; it was left untouched",
			want.PID, want.Name)
	case f.uid != want.UID:
		return changed(want, fmt.Sprintf("it belongs to user %d, and to user %d before", f.uid, want.UID))
	case f.stat.comm != want.Name:
		return changed(want, fmt.Sprintf("its name is %q now", f.stat.comm))
	}
	if err := compareLink(want, "program", want.Exe, f.exe, f.exeErr); err != nil {
		return err
	}
	if err := compareLink(want, "working directory", want.Cwd, f.cwd, f.cwdErr); err != nil {
		return err
	}
	if want.ArgvDigest == "" {
		return nil
	}
	if f.argvErr != nil {
		return actuators.Refused("pid %d (%s): read its command line: %w; it was left untouched", want.PID, want.Name, f.argvErr)
	}
	if digest(want.BootID, f.argv) != want.ArgvDigest {
		return changed(want, "its command line is another")
	}
	return nil
}

// compareLink compares what a link of /proc/<pid> leads to. A collector may leave out that the target is deleted.
func compareLink(want decision.Process, what, was, is string, err error) error {
	switch {
	case was == "" || err == nil && (is == was || strings.TrimSuffix(is, " (deleted)") == was):
		return nil
	case err != nil:
		return actuators.Refused("pid %d (%s): read its %s: %w; it was left untouched", want.PID, want.Name, what, err)
	}
	return changed(want, "its "+what+" is another")
}

func changed(want decision.Process, how string) error {
	return actuators.Changed("pid %d (%s) changed: %s", want.PID, want.Name, how)
}

// digest is how a command line is remembered: SHA-256 over the boot id and the bytes of cmdline, in hexadecimal. The boot id
// keeps it from being looked up.
func digest(boot string, cmdline []byte) string {
	h := sha256.New()
	io.WriteString(h, boot)
	h.Write(cmdline)
	return hex.EncodeToString(h.Sum(nil))
}

// file reads one file of the process. What procfs gives is whole only at its end: its files have no size.
func (p *pin) file(name string) ([]byte, error) {
	fd, err := unix.Openat(p.dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf := make([]byte, 0, 512)
	for {
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return buf, nil
		}
		if buf = buf[:len(buf)+n]; len(buf) == cap(buf) {
			buf = slices.Grow(buf, len(buf))
		}
	}
}

func (p *pin) link(name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(p.dir, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// lost says what an error on the way to a process means: procfs answers ENOENT or ESRCH once it is reaped.
func lost(pid int, step string, err error) error {
	switch {
	case errors.Is(err, actuators.ErrGone) || errors.Is(err, actuators.ErrRefused):
		return err
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH):
		return actuators.Gone("pid %d has ended", pid)
	}
	return actuators.Refused("pid %d: %s: %w; it was left untouched", pid, step, err)
}
