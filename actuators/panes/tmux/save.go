package tmux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxScrollback is the most that is saved of one pane, in bytes. More is refused and not cut: what was cut would be lost.
const maxScrollback = 64 << 20

var errTooLong = fmt.Errorf("it is longer than %d MiB", maxScrollback>>20)

// save writes the scrollback of every pane and the manifest, durably. It overwrites nothing. After an error it leaves nothing
// behind.
func (g *grasp) save(ctx context.Context) error {
	if err := os.MkdirAll(g.Trash, 0o700); err != nil {
		return fmt.Errorf("make the trash: %w", err)
	}
	trash, err := os.OpenRoot(g.Trash)
	if err != nil {
		return fmt.Errorf("open the trash: %w", err)
	}
	defer func() { _ = trash.Close() }()
	if err := trash.Mkdir(g.plan.Act, 0o700); err != nil {
		return fmt.Errorf("make a folder in the trash: %w", err)
	}
	if err := g.fill(ctx, trash); err != nil {
		_, left := discard(trash, &g.plan)
		return errors.Join(err, left)
	}
	return nil
}

func (g *grasp) fill(ctx context.Context, trash *os.Root) error {
	for _, p := range g.plan.Panes {
		err := write(trash, filepath.Join(g.plan.Act, p.File), func(f *os.File) error { return g.client.capture(ctx, p.ID, f) })
		if err != nil {
			return fmt.Errorf("save the scrollback of pane %s: %w", p.ID, err)
		}
	}
	err := write(trash, filepath.Join(g.plan.Act, manifest), func(f *os.File) error { return json.NewEncoder(f).Encode(g.plan) })
	if err != nil {
		return fmt.Errorf("save the manifest: %w", err)
	}
	return errors.Join(syncFolder(trash, g.plan.Act), syncFolder(trash, "."))
}

// write makes a new file and sees it on the disk.
func write(root *os.Root, name string, fill func(*os.File) error) error {
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = fill(f)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncFolder(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// capture writes a pane's history and screen as plain text to f, and after it the screen that a full-screen program hides.
// What tmux prints ends with a mark, since it can print nothing and still exit with 0.
func (c client) capture(ctx context.Context, pane string, f *os.File) error {
	// display-message takes a % for the beginning of a date.
	mark := "end of pane " + strings.TrimPrefix(pane, "%")
	out := &limited{f, maxScrollback}
	err := c.stream(ctx, out, quiet, "capture-pane", "-p", "-J", "-S", "-", "-t", pane, ";",
		"capture-pane", "-p", "-J", "-a", "-q", "-t", pane, ";", "display-message", "-p", mark)
	if out.left < 0 {
		return errTooLong
	}
	if err != nil {
		return err
	}
	tail := make([]byte, len(mark)+1)
	at := maxScrollback - out.left - int64(len(tail))
	if at < 0 {
		return errors.New("tmux printed nothing")
	}
	if _, err := f.ReadAt(tail, at); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(tail) != mark+"\n" {
		return errors.New("what tmux printed is cut short")
	}
	return f.Truncate(at)
}

// limited fails once more than left bytes are written to it.
type limited struct {
	to   io.Writer
	left int64
}

func (l *limited) Write(b []byte) (int, error) {
	if l.left -= int64(len(b)); l.left < 0 {
		return 0, errTooLong
	}
	return l.to.Write(b)
}

// discard removes the files that an act made, and its folder. What else is in there is left, and is the error.
func discard(trash *os.Root, p *plan) (freed int64, err error) {
	names := []string{manifest}
	for _, pane := range p.Panes {
		names = append(names, pane.File)
	}
	for _, name := range names {
		name = filepath.Join(p.Act, name)
		st, err := trash.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return freed, err
		}
		if !st.Mode().IsRegular() {
			return freed, fmt.Errorf("%s is no file of ours; it was left", strconv.Quote(name))
		}
		if err := trash.Remove(name); err != nil {
			return freed, err
		}
		freed += st.Size()
	}
	if err := trash.Remove(p.Act); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return freed, err
	}
	return freed, nil
}
