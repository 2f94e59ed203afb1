package policycmp

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
)

// watchInterval is how often folders are looked at. Two looks must agree before files are read: an editor saves in several steps.
const watchInterval = 100 * time.Millisecond

// Watch compares again after every save below a folder that is a version, until ctx ends, and has each new result shown. It looks at names, sizes
// and times, since file systems of other machines and of containers do not report saves.
func (d *Difference) Watch(ctx context.Context, show func(*document.Comparison, error) error) error {
	folders := slices.DeleteFunc(slices.Clone(d.Names[:]), func(name string) bool {
		st, err := os.Stat(name)
		return err != nil || !st.IsDir()
	})
	if len(folders) == 0 {
		return config.Usagef("--watch: neither %s nor %s is a folder, so nothing can be saved there. Nothing was decided", d.Names[0], d.Names[1])
	}
	shown, compared, before := "", "", ""
	for tick := time.Tick(watchInterval); ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-tick:
		}
		now := listing(folders)
		if now == compared || now != before {
			before = now
			continue
		}
		compared = now
		doc, err := d.Compare(ctx)
		result := fmt.Sprint(err)
		if err == nil {
			result = doc.Base.Policy.Digest + doc.Head.Policy.Digest
		}
		if ctx.Err() != nil || result == shown { // such as a file that was only touched
			continue
		}
		shown = result
		if err := show(doc, err); err != nil {
			return err
		}
	}
	return nil
}

// listing is the names, sizes and times of all that is in folders, but for folders whose name begins with a dot, which
// hold no policies. What cannot be read is listed as its error: comparing says what is wrong.
func listing(folders []string) string {
	var out strings.Builder
	for _, folder := range folders {
		_ = filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
			if name != folder && e.IsDir() && strings.HasPrefix(e.Name(), ".") {
				return fs.SkipDir
			}
			st, missing := os.Lstat(name)
			if fmt.Fprintln(&out, name, err, missing); missing == nil {
				fmt.Fprintln(&out, st.Size(), st.ModTime().UnixNano())
			}
			return nil
		})
	}
	return out.String()
}
