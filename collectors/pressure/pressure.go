// Package pressure reads how short a machine is of memory and disk: the kernel's pressure stall information (Documentation/accounting/psi.rst), and what file systems have left.
package pressure

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// answers is how long file systems have to answer, and asking is held while one is asked: a network file system may never answer, and the next question then does not begin.
const answers = 2 * time.Second

var asking = make(chan struct{}, 1)

// errSilent is why nothing is known.
var errSilent = errors.New("a file system did not answer in time")

// ReadBounded is Read that waits for no file system: where one does not answer, nothing is known, and that is the error.
func ReadBounded(root string, places []string) (*snapshot.Pressure, error) {
	return readBounded(answers, func() (*snapshot.Pressure, error) { return Read(root, places) })
}

func readBounded(most time.Duration, ask func() (*snapshot.Pressure, error)) (*snapshot.Pressure, error) {
	type answer struct {
		p   *snapshot.Pressure
		err error
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case asking <- struct{}{}:
	case <-timer.C:
		return &snapshot.Pressure{}, errSilent
	}
	got := make(chan answer, 1) // with room, so that an answer that comes too late ends its goroutine
	go func() {
		p, err := ask()
		<-asking
		got <- answer{p, err}
	}()
	select {
	case a := <-got:
		return a.p, a.err
	case <-timer.C:
		return &snapshot.Pressure{}, errSilent
	}
}

// Read gives what root (/proc) and the file systems of places say. A kernel without pressure stall information, and a place that is not there, leave facts absent; err names what is there
// and could not be read. What is given with an error is still true.
func Read(root string, places []string) (*snapshot.Pressure, error) {
	p := &snapshot.Pressure{}
	var errs []error
	kernel, unread := procfs.NewFS(root)
	for resource, to := range map[string][2]**float64{"memory": {&p.MemorySome, &p.MemoryFull}, "io": {&p.IOSome, &p.IOFull}} {
		stats, err := kernel.PSIStatsForResource(resource)
		if err = cmp.Or(unread, err); err == nil {
			if *to[0], *to[1], err = shares(stats); err == nil {
				continue
			}
		}
		// Either means that the kernel does not count: it was built without, or started with psi=0.
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.EOPNOTSUPP) {
			errs = append(errs, fmt.Errorf("read the pressure on %s: %w", resource, err))
		}
	}
	for _, place := range places {
		disk, inodes, err := Free(place)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, fmt.Errorf("read what is free at %s: %w", place, err))
			}
			continue
		}
		p.DiskFree, p.InodesFree = least(p.DiskFree, disk), least(p.InodesFree, inodes)
	}
	return p, errors.Join(errs...)
}

// shares are the averages over a minute, as shares of it; nil for a line that the kernel does not give.
func shares(stats procfs.PSIStats) (some, full *float64, err error) {
	if stats.Some == nil {
		return nil, nil, errors.New("it has no avg60 of some")
	}
	for to, line := range map[**float64]*procfs.PSILine{&some: stats.Some, &full: stats.Full} {
		if line != nil && (line.Avg60 < 0 || line.Avg60 > 100) {
			return nil, nil, fmt.Errorf("avg60 is %g", line.Avg60)
		}
		if line != nil {
			*to = new(line.Avg60 / 100)
		}
	}
	return some, full, nil
}

// What a FUSE file system says of inodes is what its program made up, often none free; it counts as not counted.
func Free(path string) (disk, inodes float64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, 0, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	share := func(free, all uint64) float64 {
		if all == 0 {
			return 1
		}
		return min(1, float64(free)/float64(all))
	}
	if st.Type == unix.FUSE_SUPER_MAGIC {
		st.Files = 0
	}
	return share(st.Bavail, st.Blocks), share(st.Ffree, st.Files), nil
}

func least(before *float64, v float64) *float64 {
	if before == nil || v < *before {
		return &v
	}
	return before
}
