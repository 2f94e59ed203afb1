// Package host reads what a procfs, or a folder laid out like one, says of the machine: its clocks, its namespaces, who inherits orphans, and whether
// others' processes are shown. It opens the folder, and pins the processes in it, for all that read them.
package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/prometheus/procfs"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// chunk is how many processes a goroutine takes at a time; between two it looks at its deadline.
const chunk = 128

// Root is an open procfs, or a folder laid out like one.
type Root struct {
	FD   int
	Path string
	// Procfs is false for a fixture. Own is true where its process ids are those that system calls of this process use: it
	// is false for a procfs of another pid namespace.
	Procfs, Own bool
	// Self is this process's id as this root counts it, 0 where it is not in there.
	Self int
}

// Open opens path. A missing one wraps collectors.ErrAbsent, one that may not be read collectors.ErrPermission.
func Open(path string) (*Root, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil, fmt.Errorf("open %s: %w: mount procfs there, or set collect.processes.root", path, collectors.ErrAbsent)
	case proc.Denied(err):
		return nil, fmt.Errorf("open %s: %w: run as a user that may read it", path, collectors.ErrPermission)
	case err != nil:
		return nil, fmt.Errorf("open %s: %w: set collect.processes.root to where procfs is mounted", path, err)
	}
	r := &Root{FD: fd, Path: path}
	var fs unix.Statfs_t
	r.Procfs = unix.Fstatfs(fd, &fs) == nil && fs.Type == unix.PROC_SUPER_MAGIC
	if text, err := proc.Readlink(fd, "self", make([]byte, 32)); err == nil {
		if n, ok := proc.Number(text); ok {
			r.Self = n
		}
	}
	r.Own = r.Procfs && r.Self == os.Getpid()
	return r, nil
}

// Close closes it.
func (r *Root) Close() {
	_ = unix.Close(r.FD)
}

// PIDs are those of all processes in the root. There is at least one.
func (r *Root) PIDs() ([]int, error) {
	pids, err := proc.List(r.FD, ".", make([]byte, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", r.Path, err)
	}
	if len(pids) == 0 {
		return nil, fmt.Errorf("list %s: no process in it: set collect.processes.root to where procfs is mounted", r.Path)
	}
	return pids, nil
}

// EachPinned calls, for every one of these processes, do with a descriptor that pins it: once the process has ended, reads through it fail with ESRCH and
// never reach another process of the same number. A process that has ended before it could be opened is passed over. It gives the forks that did
// it, each of which was used by one goroutine, so that it may keep its own buffers.
func EachPinned[T any](ctx context.Context, r *Root, pids []int, fork func() T, do func(by T, pid, dir int)) ([]T, error) {
	var next atomic.Int64
	var g errgroup.Group
	forks := make([]T, min(runtime.GOMAXPROCS(0), (len(pids)+chunk-1)/chunk))
	for i := range forks {
		forks[i] = fork()
	}
	for _, by := range forks {
		g.Go(func() error {
			for {
				to := int(next.Add(chunk))
				from := to - chunk
				if from >= len(pids) {
					return nil
				}
				if ctx.Err() != nil {
					return fmt.Errorf("read %s: stopped after %d of %d processes: %w", r.Path, from, len(pids), context.Cause(ctx))
				}
				for _, pid := range pids[from:min(to, len(pids))] {
					dir, err := r.Pin(pid)
					switch {
					case err == nil:
						do(by, pid, dir)
						_ = unix.Close(dir)
					case !proc.Ended(err):
						return fmt.Errorf("open %s/%d: %w", r.Path, pid, err)
					}
				}
			}
		})
	}
	return forks, g.Wait()
}

// Pin pins one process. O_PATH is enough for reading below it.
func (r *Root) Pin(pid int) (int, error) {
	return unix.Openat(r.FD, strconv.Itoa(pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// Namespace names a namespace of this process.
func (r *Root) Namespace(kind string) string {
	dir, name := r.FD, "self/ns/"+kind
	if r.Procfs {
		dir, name = unix.AT_FDCWD, "/proc/self/ns/"+kind
	}
	text, err := proc.Readlink(dir, name, make([]byte, 64))
	if err != nil {
		return ""
	}
	return string(text)
}

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

// CheckVisible says why processes of other users may be missing from what a root lists, nil where all are shown. A fixture hides nothing.
func (r *Root) CheckVisible() error {
	if !r.Procfs {
		return nil
	}
	how, err := hides(r)
	if err != nil {
		return fmt.Errorf("look for hidden processes in %s: %w: whether others' processes are shown is unknown", r.Path, err)
	}
	if how == "" {
		return nil
	}
	return fmt.Errorf("read %s: %w for other users' processes (%s), so a process that is not seen may still exist: run as a user that "+
		"may see them, or mount it with hidepid=0", r.Path, collectors.ErrPermission, how)
}

// hides names what keeps processes from this user's eyes, "" for nothing.
func hides(r *Root) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(r.FD, "1", &st, 0); errors.Is(err, unix.ENOENT) {
		return "process 1 is not shown", nil
	}
	all, err := proc.ReadMounts("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	m, ok := procMount(r, all)
	if !ok {
		return "", errors.New("its mount is not in /proc/self/mountinfo")
	}
	mode, group := hidepid(m.Options)
	if mode == "" || allSeeing() || mode != "ptraceable" && inGroup(group) {
		return "", nil
	}
	return "hidepid=" + mode, nil
}

// procMount finds the mount by its id, or by its place on kernels before 5.8, which do not tell ids.
func procMount(r *Root, all []proc.Mount) (proc.Mount, bool) {
	var st unix.Statx_t
	err := unix.Statx(r.FD, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st)
	byID := err == nil && st.Mask&unix.STATX_MNT_ID != 0
	for _, m := range slices.Backward(all) {
		if byID && uint64(m.ID) == st.Mnt_id || !byID && m.Point == r.Path {
			return m, true
		}
	}
	return proc.Mount{}, false
}

// hidepid takes what procfs hides out of its mount options, see proc(5): "" for nothing, else the word that kernels since 5.8
// use, and the group that is excepted, which is 0 unless gid= names another.
func hidepid(options string) (mode string, group int) {
	for option := range strings.SplitSeq(options, ",") {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "gid":
			if n, err := strconv.Atoi(value); err == nil {
				group = n
			}
		case "hidepid":
			mode = value
		}
	}
	words := map[string]string{"0": "", "off": "", "1": "noaccess", "2": "invisible", "4": "ptraceable"}
	if word, ok := words[mode]; ok {
		mode = word
	}
	return mode, group
}

func inGroup(gid int) bool {
	groups, err := os.Getgroups()
	return os.Getegid() == gid || err == nil && slices.Contains(groups, gid)
}

// allSeeing reports whether this process may trace all others, so that nothing is hidden from it: it has the capability, and has it
// over all users and not only over those of a user namespace of its own.
func allSeeing() bool {
	users, err := os.ReadFile("/proc/self/uid_map")
	if err != nil || string(bytes.Join(bytes.Fields(users), []byte(" "))) != "0 0 4294967295" {
		return false
	}
	own, err := status("/proc", 0)
	return err == nil && own.CapEff&(1<<unix.CAP_SYS_PTRACE) != 0
}

// Stronger reports whether process 1 is permitted capabilities that this process is not, for which the kernel does not
// show what it uses (ptrace(2), access mode checking).
func (r *Root) Stronger() bool {
	own, err := status("/proc", 0)
	if err != nil {
		return false
	}
	its, err := status(r.Path, 1)
	return err == nil && its.CapPrm&^own.CapPrm != 0
}

// status reads the status of a process, or of this one for 0.
func status(root string, pid int) (procfs.ProcStatus, error) {
	fs, err := procfs.NewFS(root)
	if err != nil {
		return procfs.ProcStatus{}, err
	}
	p, err := fs.Self()
	if pid != 0 {
		p, err = fs.Proc(pid)
	}
	if err != nil {
		return procfs.ProcStatus{}, err
	}
	return p.NewStatus()
}
