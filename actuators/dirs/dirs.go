// Package dirs sets folders aside: a linked worktree, with its place in the repository's bookkeeping, is moved into a trash on
// the same mount, from where it can be brought back until its time is over. Nothing else that has content is touched.
package dirs

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"winnow/actuators"
)

// Holding says who uses a folder or anything in it: one word or phrase a process. known is false when that could not be found out
// for every process that could be one; nobody is then no answer.
type Holding interface {
	Holding(ctx context.Context, path string) (who []string, known bool, err error)
}

// Options says where folders may be taken from and where they go.
type Options struct {
	// StateTrash is the folder of what is set aside. It serves folders on its own mount; for others there is .winnow-trash in
	// their root.
	StateTrash string
	// Roots are the folders below which anything may be touched, as real paths.
	Roots []string
	Home  string
	// Self are this process and its ancestors, and ProcRoot where procfs is mounted; empty is /proc.
	Self     []int
	ProcRoot string
	Holders  Holding
	// Git is the git program; empty is git.
	Git string
	// GitTimeout bounds each run of it; 0 is 30 seconds.
	GitTimeout time.Duration
	// Step, when set, is told the name of each step right before it is taken.
	Step func(string)
	Log  hclog.Logger
}

// Actuator sets folders aside, and brings them back. It is an actuators.Actuator and an actuators.Restorer.
type Actuator struct {
	o   Options
	git git
}

// New makes an Actuator.
func New(o Options) *Actuator {
	if o.ProcRoot == "" {
		o.ProcRoot = "/proc"
	}
	if o.Git == "" {
		o.Git = "git"
	}
	if o.GitTimeout == 0 {
		o.GitTimeout = 30 * time.Second
	}
	if o.Step == nil {
		o.Step = func(string) {}
	}
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	return &Actuator{o: o, git: git{program: o.Git, timeout: o.GitTimeout}}
}

// nobody fails unless it is known that no process uses path.
func (a *Actuator) nobody(ctx context.Context, path string) error {
	if a.o.Holders == nil {
		return actuators.Refused("who uses %s cannot be found out", path)
	}
	who, known, err := a.o.Holders.Holding(ctx, path)
	switch {
	case err != nil:
		return actuators.Refused("find out who uses %s: %w", path, err)
	case len(who) > 0:
		return actuators.Refused("somebody is in it: %s", list(who))
	case !known:
		return actuators.Refused("who uses %s is not known for every process", path)
	}
	return nil
}

// list names the first few of many.
func list(who []string) string {
	const most = 3
	text := ""
	for i, w := range who {
		if i == most {
			return text + " and others"
		}
		if i > 0 {
			text += ", "
		}
		text += w
	}
	return text
}

// stamp is what makes a folder the same one: an inode's number is given anew at once, so its time of birth belongs to it.
type stamp struct {
	dev, ino uint64
	born     time.Time
	// mount is 0 on kernels before 5.8. mountRoot is true for a mount point.
	mount     uint64
	mountRoot bool
	mode      uint16
}

func (s stamp) same(o stamp) bool {
	return s.dev == o.dev && s.ino == o.ino && s.born.Equal(o.born) && !s.born.IsZero()
}

// stampAt reads the stamp of name in dir without following a link; an empty name is dir itself.
func stampAt(dir int, name string) (stamp, error) {
	flags := unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	var x unix.Statx_t
	if err := unix.Statx(dir, name, flags, unix.STATX_BASIC_STATS|unix.STATX_BTIME|unix.STATX_MNT_ID, &x); err != nil {
		return stamp{}, err
	}
	s := stamp{dev: unix.Mkdev(x.Dev_major, x.Dev_minor), ino: x.Ino, mode: x.Mode, mountRoot: x.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0}
	if x.Mask&unix.STATX_BTIME != 0 {
		s.born = time.Unix(x.Btime.Sec, int64(x.Btime.Nsec))
	}
	if x.Mask&unix.STATX_MNT_ID != 0 {
		s.mount = x.Mnt_id
	}
	return s, nil
}
