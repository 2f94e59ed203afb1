package decisionlog

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/httppost"
)

// File is a log in a file, an event a line, for this user alone. Over MaxSize bytes it becomes <path>.1, the one that was called so <path>.2, and so on:
// MaxFiles are kept in all.
type File struct {
	Path     string
	MaxSize  int64
	MaxFiles int
}

// Write adds events, durably once it returns nil.
func (f File) Write(events [][]byte) error {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return fmt.Errorf("write decision log %s: %w", f.Path, err)
	}
	for len(events) > 0 {
		n, err := f.fill(events)
		if err != nil {
			return fmt.Errorf("write decision log %s: %w; what was not written waits for the next sweep", f.Path, err)
		}
		events = events[n:]
	}
	return nil
}

// fill writes as many events as the file has room for, at least one into an empty one, and says how many.
func (f File) fill(events [][]byte) (n int, err error) {
	file, size, err := f.open()
	if err == nil && size > 0 && size+int64(len(events[0])) >= f.MaxSize {
		if err = errors.Join(file.Close(), f.rotate()); err == nil {
			file, size, err = f.open()
		}
	}
	if err != nil {
		return 0, err
	}
	for n < len(events) && (n == 0 || size+int64(len(events[n])) < f.MaxSize) {
		line := append(events[n][:len(events[n]):len(events[n])], '\n')
		if _, err := file.Write(line); err != nil {
			return 0, errors.Join(err, file.Close())
		}
		size += int64(len(line))
		n++
	}
	return n, errors.Join(file.Sync(), file.Close())
}

// open opens the file at its end. A line that was cut short there, by a crash, is ended: its event is written again.
func (f File) open() (*os.File, int64, error) {
	file, err := os.OpenFile(f.Path, os.O_RDWR|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, 0, err
	}
	st, err := file.Stat()
	if err == nil {
		err = checkOwner(st)
	}
	if err == nil && st.Size() > 0 {
		last := make([]byte, 1)
		if _, err = file.ReadAt(last, st.Size()-1); err == nil && last[0] != '\n' {
			_, err = io.WriteString(file, "\n")
		}
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, st.Size(), nil
}

// checkOwner refuses what is no file of this user's own: another user would read what is logged.
func checkOwner(st fs.FileInfo) error {
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !st.Mode().IsRegular():
		return errors.New("it is no regular file: name another one")
	case !ok || int(sys.Uid) != os.Geteuid():
		return errors.New("it belongs to another user: name another one")
	}
	return nil
}

// rotate moves every file up by one; the last one goes.
func (f File) rotate() error {
	name := func(n int) string {
		if n == 0 {
			return f.Path
		}
		return fmt.Sprintf("%s.%d", f.Path, n)
	}
	if f.MaxFiles <= 1 {
		return os.Remove(f.Path)
	}
	for n := f.MaxFiles - 1; n > 0; n-- {
		if err := os.Rename(name(n-1), name(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Service is a log that a server keeps, by OPA's protocol: POST <URL>/logs with a JSON array of events, compressed with gzip.
type Service struct {
	// URL is the server's, without /logs. Token, where it is not empty, is sent as a bearer token.
	URL, Token string
	// Limit is how many bytes a request may have, compressed. An event that is larger alone is sent alone.
	Limit int64
	// Within bounds one request.
	Within time.Duration
	// Wait is how long it waits before a second try, and twice as long before each further one.
	Wait time.Duration
}

// errRefused says that the server will never take these events; every other error may pass.
var errRefused = errors.New("the server refuses it")

// Send sends events in their order, in requests as large as Limit allows, and again after a failure that may pass, until ctx ends. delivered is told of each
// part that the server has, refused of each event that it will never take; an error of theirs ends the sending.
func (s Service) Send(ctx context.Context, events [][]byte, delivered, refused func(from, to int) error) error {
	from, size := 0, len(events)
	for from < len(events) {
		to := min(from+size, len(events))
		body, err := pack(events[from:to])
		if err != nil {
			return err
		}
		if int64(len(body)) > s.Limit && to-from > 1 {
			size = (to - from) / 2
			continue
		}
		err = s.try(ctx, body)
		switch {
		case err == nil:
			err = delivered(from, to)
			from = to
		case errors.Is(err, errRefused) && to-from > 1: // which one?
			size = (to - from) / 2
			continue
		case errors.Is(err, errRefused):
			err = refused(from, to)
			from = to
		}
		if err != nil {
			return fmt.Errorf("send decisions to %s: %w", s.URL, err)
		}
	}
	return nil
}

// try posts a body until it is taken, is refused for good, or ctx ends.
func (s Service) try(ctx context.Context, body []byte) error {
	wait := s.Wait
	for {
		err := s.post(ctx, body)
		if err == nil || errors.Is(err, errRefused) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
			wait *= 2
		}
		if ctx.Err() != nil {
			return err
		}
	}
}

// post sends one request.
func (s Service) post(ctx context.Context, body []byte) error {
	to := httppost.Target{Address: strings.TrimSuffix(s.URL, "/") + "/logs", Encoding: "gzip", Anywhere: true, Within: s.Within}
	if s.Token != "" {
		to.Header, to.Secret = "Authorization", "Bearer "+s.Token
	}
	_, err := httppost.Post(ctx, to, "application/json", body)
	if answer := new(httppost.Status); errors.As(err, answer) {
		switch answer.Code {
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
			return fmt.Errorf("%w: %w", errRefused, err)
		}
	}
	return err
}

// pack is events as one array, compressed.
func pack(events [][]byte) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	for i, e := range events {
		before := ","
		if i == 0 {
			before = "["
		}
		if _, err := z.Write(append([]byte(before), e...)); err != nil {
			return nil, err
		}
	}
	if _, err := io.WriteString(z, "]"); err != nil {
		return nil, err
	}
	err := z.Close()
	return out.Bytes(), err
}
