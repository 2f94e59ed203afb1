package opensessions

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/sqlite"
)

// storeWithin is how long Codex's store may take.
const storeWithin = 2 * time.Second

// state is a store of Codex's: state_5.sqlite. Its number grows with its layout.
var state = regexp.MustCompile(`^state_([0-9]{1,9})\.sqlite$`)

// folders are those in which Codex's threads work, by the threads' ids: threads.cwd of the newest store (seen with 0.171.0). A store that cannot be read or has
// another layout gives none, and then where a thread works is not known.
func folders(ctx context.Context, home string) map[string]string {
	path := newestStore(home)
	if path == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	rows, err := sqlite.Read(ctx, path, "threads", "id", "cwd")
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for _, row := range rows {
		id, err := row.Text("id")
		at, none := row.Text("cwd")
		if err == nil && none == nil {
			out[id] = at
		}
	}
	return out
}

func newestStore(home string) (path string) {
	files, _ := os.ReadDir(home)
	newest := -1
	for _, e := range files {
		if m := state.FindStringSubmatch(e.Name()); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil && n > newest {
				newest, path = n, filepath.Join(home, e.Name())
			}
		}
	}
	return path
}
