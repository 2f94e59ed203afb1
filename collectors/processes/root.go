package processes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// chunk is how many processes a goroutine takes at a time; between two it looks at its deadline.
const chunk = 128

// root is an open procfs, or a folder laid out like one.
type root struct {
	fd   int
	path string
	// procfs is false for a fixture. own is true where its process ids are those that system calls of this process use: it
	// is false for a procfs of another pid namespace.
	procfs, own bool
	// self is this process's id as this root counts it, 0 where it is not in there.
	self int
}

// openRoot opens path. A missing one wraps collectors.ErrAbsent, one that may not be read collectors.ErrPermission.
func openRoot(path string) (*root, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil, fmt.Errorf("open %s: %w: mount procfs there, or set collect.processes.root", path, collectors.ErrAbsent)
	case proc.Denied(err):
		return nil, fmt.Errorf("open %s: %w: run as a user that may read it", path, collectors.ErrPermission)
	case err != nil:
		return nil, fmt.Errorf("open %s: %w: set collect.processes.root to where procfs is mounted", path, err)
	}
	r := &root{fd: fd, path: path}
	var fs unix.Statfs_t
	r.procfs = unix.Fstatfs(fd, &fs) == nil && fs.Type == unix.PROC_SUPER_MAGIC
	if text, err := proc.Readlink(fd, "self", make([]byte, 32)); err == nil {
		if n, ok := proc.Number(text); ok {
			r.self = n
		}
	}
	r.own = r.procfs && r.self == os.Getpid()
	return r, nil
}

func (r *root) close() {
	_ = unix.Close(r.fd)
}

// pids are those of all processes in the root. There is at least one.
func (r *root) pids() ([]int, error) {
	pids, err := proc.List(r.fd, ".", make([]byte, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", r.path, err)
	}
	if len(pids) == 0 {
		return nil, fmt.Errorf("list %s: no process in it: set collect.processes.root to where procfs is mounted", r.path)
	}
	return pids, nil
}

// eachPinned calls, for every one of these processes, do with a descriptor that pins it: once the process has ended, reads through it fail with ESRCH and
// never reach another process of the same number. A process that has ended before it could be opened is passed over. It gives the forks that did
// it, each of which was used by one goroutine, so that it may keep its own buffers.
func eachPinned[T any](ctx context.Context, r *root, pids []int, fork func() T, do func(by T, pid, dir int)) ([]T, error) {
	var next atomic.Int64
	var g errgroup.Group
	forks := make([]T, min(runtime.GOMAXPROCS(0), (len(pids)+chunk-1)/chunk))
	for i := range forks {
		forks[i] = fork()
	}
	for _, by := range forks {
		one := func(pid, dir int) { do(by, pid, dir) }
		g.Go(func() error {
			for {
				to := int(next.Add(chunk))
				from := to - chunk
				if from >= len(pids) {
					return nil
				}
				if ctx.Err() != nil {
					return fmt.Errorf("read %s: stopped after %d of %d processes: %w", r.path, from, len(pids), context.Cause(ctx))
				}
				if err := r.some(pids[from:min(to, len(pids))], one); err != nil {
					return err
				}
			}
		})
	}
	return forks, g.Wait()
}

func (r *root) some(pids []int, do func(pid, dir int)) error {
	for _, pid := range pids {
		dir, err := r.open(pid)
		if err != nil {
			if !proc.Ended(err) {
				return fmt.Errorf("open %s/%d: %w", r.path, pid, err)
			}
			continue
		}
		do(pid, dir)
		_ = unix.Close(dir)
	}
	return nil
}

// open pins one process. O_PATH is enough for reading below it.
func (r *root) open(pid int) (int, error) {
	return unix.Openat(r.fd, strconv.Itoa(pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}
