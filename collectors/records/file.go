// Package records reads files of JSON records, as orchestrators write them: one object a line, or one JSON document.
//
// It is strict where a lenient reading could hide a record or change what it says: a half-written line, a key that stands
// twice, text that is not UTF-8 and a time that could mean two things are errors, each with its line or place.
package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"unicode/utf8"

	"winnow/collectors"
)

// MaxSize is the greatest file that is read, in bytes.
const MaxSize = 64 << 20

// chunk is how much is read between two looks at the context.
const chunk = 1 << 20

// Load reads the whole file at path. It wraps collectors.ErrAbsent where there is none and collectors.ErrPermission where it
// may not be read; anything but a regular file, one greater than MaxSize and one that is not UTF-8 are errors.
func Load(ctx context.Context, path string) ([]byte, error) {
	// Without O_NONBLOCK the opening of a FIFO waits for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open %s: %w; nothing has been written there yet, or the path in config.yaml is wrong", path, collectors.ErrAbsent)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("open %s: %w; let this user read the file", path, collectors.ErrPermission)
	case err != nil:
		return nil, fmt.Errorf("open records: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open records: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: it is not a regular file (%s); name the file itself in config.yaml", path, info.Mode().Type())
	}
	return readAll(ctx, f, path, info.Size())
}

func readAll(ctx context.Context, r io.Reader, path string, size int64) ([]byte, error) {
	data := make([]byte, 0, min(size, MaxSize)+1)
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if len(data) > MaxSize {
			return nil, fmt.Errorf("read %s: it is greater than %d MiB; let its owner drop what has long completed", path, MaxSize>>20)
		}
		n := len(data)
		if cap(data)-n < chunk/16 {
			data = append(data, make([]byte, chunk)...)[:n]
		}
		got, err := r.Read(data[n:min(cap(data), n+chunk)])
		data = data[:n+got]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("read %s: it is not UTF-8, so a path in it could be mistaken; let its owner write UTF-8", path)
	}
	return data, nil
}
