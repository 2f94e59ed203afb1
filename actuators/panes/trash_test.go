package panes

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestAttackTrashThatIsNone has the trash for texts be a link, or a folder that others can write: no text is put there, and nothing in it
// is removed.
func TestAttackTrashThatIsNone(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a trash for the text of panes that is a link, or that others can write")
	for name, put := range map[string]func(precious, at string) error{
		"a link":                         os.Symlink,
		"a folder that others can write": func(_, at string) error { return errors.Join(os.Mkdir(at, 0o700), os.Chmod(at, 0o777)) },
	} {
		base := t.TempDir()
		precious, at := filepath.Join(base, "precious"), filepath.Join(base, "trash")
		must.Do(t, errors.Join(os.Mkdir(precious, 0o700), put(precious, at)))
		k := Kept{Trash: at, Act: "A1", Panes: 1}
		err := k.Save(struct{}{}, func(w Writer) error { return w(File(0), func(*os.File) error { return nil }) })
		_, purged := k.Purge()
		left, listed := os.ReadDir(at)
		if err == nil || purged == nil || len(left) > 0 || listed != nil {
			a.Lost("%s: %v, %v, %v %v", name, err, purged, left, listed)
			continue
		}
		a.Held()
	}
}
