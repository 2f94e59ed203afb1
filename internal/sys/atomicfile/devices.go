package atomicfile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// reader is how long a FIFO may wait for a reader, pause the time between two looks.
	reader = 10 * time.Second
	pause  = 20 * time.Millisecond
)

// device opens a device or FIFO for writing. Opening a FIFO without a reader waits for one, for some time.
func device(ctx context.Context, dir int, name, path string, st *unix.Stat_t) (int, error) {
	began := time.Now()
	for {
		fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENXIO) && time.Since(began) < reader && ctx.Err() == nil:
			time.Sleep(pause)
			continue
		case errors.Is(err, unix.ENXIO):
			return -1, refused(path, "no program reads it: start its reader first")
		case err != nil:
			return -1, fmt.Errorf("write %s: %w", path, err)
		}
		var now unix.Stat_t
		if err := unix.Fstat(fd, &now); err != nil || now.Dev != st.Dev || now.Ino != st.Ino {
			_ = unix.Close(fd)
			return -1, refused(path, "%v", errChanged)
		}
		return fd, nil
	}
}

// writeStream writes to what is open as fd, and closes it. The end of ctx ends the waiting for a reader that has stopped.
func writeStream(ctx context.Context, fd int, path string, write func(io.Writer) error) error {
	f := os.NewFile(uintptr(fd), path)
	defer context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Now()) })()
	w := bufio.NewWriter(f)
	err := write(w)
	if err == nil {
		err = w.Flush()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = context.Cause(ctx)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
