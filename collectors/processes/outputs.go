package processes

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// outputs are the regular files that a process has open for writing.
type outputs struct {
	count int
	// at is when one of them last changed. Unknown is whether one could not be asked.
	at      time.Time
	unknown bool
}

// file looks at what a descriptor leads to. That it can be written to is what the mode of the link in procfs says. The file is not asked of a server
// that has it, which may hang.
func (o *outputs) file(fds int, name string) {
	var link unix.Stat_t
	if err := unix.Fstatat(fds, name, &link, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		o.unknown = o.unknown || !proc.Ended(err)
		return
	}
	if link.Mode&unix.S_IWUSR == 0 {
		return
	}
	var st unix.Statx_t
	err := unix.Statx(fds, name, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_MTIME, &st)
	switch {
	case err != nil:
		o.unknown = o.unknown || !proc.Ended(err)
	case st.Mode&unix.S_IFMT == unix.S_IFREG:
		o.count++
		if at := time.Unix(st.Mtime.Sec, int64(st.Mtime.Nsec)); at.After(o.at) {
			o.at = at
		}
	}
}

func (o *outputs) fill(p *snapshot.Process) {
	if o.unknown {
		return
	}
	p.WritesFiles = new(o.count)
	if o.count > 0 {
		p.OutputAt = new(o.at.UTC())
	}
}
