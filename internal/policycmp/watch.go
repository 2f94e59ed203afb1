package policycmp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
)

// quietBeforeRead is how long nothing must have happened to a file before it is read: an editor saves in several steps.
const quietBeforeRead = 50 * time.Millisecond

// Watch compares again after every save below a folder that is a version, until ctx ends, and has each result shown. Folders are watched, and not files: many editors write a
// new file and rename it.
func (d *Difference) Watch(ctx context.Context, show func(*document.Comparison, error) error) (err error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch policies: %w", err)
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, name := range d.Names {
		if st, err := os.Stat(name); err != nil || !st.IsDir() {
			continue
		}
		if err := watchTree(w, name); err != nil {
			return fmt.Errorf("watch %s: %w", name, err)
		}
	}
	if len(w.WatchList()) == 0 {
		return config.Mistakef("--watch: neither %s nor %s is a folder, so nothing can be saved there. Nothing was decided", d.Names[0], d.Names[1])
	}
	quiet := time.NewTimer(0)
	for shown := ""; ; {
		select {
		case <-ctx.Done():
			return nil
		case e := <-w.Events:
			if st, err := os.Stat(e.Name); e.Has(fsnotify.Create) && err == nil && st.IsDir() {
				if err := watchTree(w, e.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return fmt.Errorf("watch %s: %w", e.Name, err)
				}
			}
			if len(w.WatchList()) == 0 {
				return fmt.Errorf("%s is no longer there; nothing more is watched", d.Names[1])
			}
			quiet.Reset(quietBeforeRead)
		case err := <-w.Errors: // such as too many events at once: what there is now is read anyway
			d.Log.Debug("watch policies", "error", err)
			quiet.Reset(quietBeforeRead)
		case <-quiet.C:
			doc, err := d.Compare(ctx)
			if ctx.Err() != nil {
				return nil
			}
			now := fmt.Sprint(err)
			if err == nil {
				now = doc.Base.Policy.Digest + doc.Head.Policy.Digest
			}
			if now == shown { // such as a file that was only touched
				continue
			}
			shown = now
			if err := show(doc, err); err != nil {
				return err
			}
		}
	}
}

// watchTree watches a folder and all that are in it. Those whose name begins with a dot hold no policies.
func watchTree(w *fsnotify.Watcher, folder string) error {
	return filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !e.IsDir():
			return nil
		case name != folder && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		}
		return w.Add(name)
	})
}
