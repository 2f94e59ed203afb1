package host

import (
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// Reader reads pinned processes. It has buffers that it uses again, so each goroutine has its own.
type Reader struct {
	// Names has one place for the texts that many processes have in common.
	Names proc.Names
	// Text, Link and Environ are buffers: for stat, for a link, and for what may be long or has many entries.
	Text, Link, Environ []byte
}

// NewReader is a reader with empty buffers.
func NewReader() Reader {
	return Reader{proc.Names{}, make([]byte, 8<<10), make([]byte, unix.PathMax+1), make([]byte, 32<<10)}
}

// Stat reads the stat of a pinned process.
func (b *Reader) Stat(dir int) (proc.Stat, error) {
	text, err := proc.ReadOnce(dir, "stat", b.Text)
	if err != nil {
		return proc.Stat{}, err
	}
	return b.Names.ParseStat(text)
}

// StatOf reads the stat of a process that is not pinned, and whose it is.
func (b *Reader) StatOf(r *Root, pid int) (st proc.Stat, uid int, err error) {
	dir, err := r.Pin(pid)
	if err != nil {
		return st, 0, err
	}
	defer func() { _ = unix.Close(dir) }()
	var owner unix.Stat_t
	if err := unix.Fstat(dir, &owner); err != nil {
		return st, 0, err
	}
	st, err = b.Stat(dir)
	return st, int(owner.Uid), err
}

// Exe is the text of the link to what a pinned process was started from, " (deleted)" included; nil where it is not shown.
func (b *Reader) Exe(dir int) *string {
	text, err := proc.Readlink(dir, "exe", b.Link)
	if err != nil {
		return nil
	}
	return b.Names.Pointer(text)
}
