package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/winnow-reaper/winnow/cmd/winnow/config"
	"github.com/winnow-reaper/winnow/cmd/winnow/text"
)

// settle is how long nothing must have happened to a file before it is read: an editor saves in several steps.
const settle = 50 * time.Millisecond

// watch tries what was given again after every save. Folders are watched, and not files: many editors write a new file and rename it.
func (t *trying) watch(ctx context.Context) (err error) {
	named, err := config.Path(t.given)
	if err != nil {
		return config.Mistakef("%v", err)
	}
	st, err := os.Stat(named)
	if err != nil {
		return config.Mistakef("%v; name a policy or a folder of policies. Nothing was decided", err)
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch %s: %w", t.given, err)
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	folder := named
	if !st.IsDir() {
		folder = filepath.Dir(named)
		err = w.Add(folder)
	} else {
		err = watchBelow(w, folder)
	}
	if err != nil {
		return fmt.Errorf("watch %s: %w", t.given, err)
	}
	quiet := time.NewTimer(0)
	var last string
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-w.Events:
			switch {
			case e.Name == folder && e.Has(fsnotify.Remove|fsnotify.Rename):
				return fmt.Errorf("%s is no longer there; nothing more is watched", folder)
			case st.IsDir() && e.Has(fsnotify.Create) && isDir(e.Name):
				if err := watchBelow(w, e.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return fmt.Errorf("watch %s: %w", e.Name, err)
				}
			}
			quiet.Reset(settle)
		case err := <-w.Errors: // such as too many events at once: what there is now is read anyway
			t.log.Debug("watching", "error", err)
			quiet.Reset(settle)
		case <-quiet.C:
			if err := t.again(ctx, &last); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
		}
	}
}

// again reads what was given, and tries it unless it is what was tried last.
func (t *trying) again(ctx context.Context, last *string) error {
	files, err := readTried(ctx, t.given)
	now := fmt.Sprint(err)
	if err == nil {
		now = string(files.digest[:])
	}
	if now == *last {
		return nil
	}
	*last = now
	out, err := t.round(ctx, files, err)
	if err != nil {
		return err
	}
	if t.json() {
		return text.JSON(t.out, out, "")
	}
	fmt.Fprintf(t.out, "%s\n", t.paint.Dim(fmt.Sprintf("-- %s  %s", time.Now().Format(time.TimeOnly), text.Clean(t.given))))
	return t.show(out, "", func(w io.Writer) { t.text(w, out) })
}

// watchBelow watches a folder and all that are in it. Those whose name begins with a dot hold no policies.
func watchBelow(w *fsnotify.Watcher, folder string) error {
	return filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case name != folder && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		}
		return w.Add(name)
	})
}
