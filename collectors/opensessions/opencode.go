package opensessions

import (
	"context"
	"path/filepath"
	"time"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/internal/sys/sqlite"
)

// OpenCodeStore is OpenCode's store, and false where there is no such file.
func OpenCodeStore(env func(string) string, home string) (string, bool) {
	return place(env, "XDG_DATA_HOME", filepath.Join(home, ".local", "share"), "opencode/opencode.db")
}

// OpenCodeSource is the source agents/<name> for such a store.
//
// OpenCode (seen with 1.18.33) has a row in session for each session, with the folder in which it works (directory) and when it last began or ended a turn
// (time_updated, milliseconds). One process has sessions of many folders (opencode serve, an editor's opencode acp), and stands in the folder in which it
// was started. No row says which process has a session open, nor whether any has.
func OpenCodeSource(name, path string) collectors.Source {
	return writtenSource("opencode", name, path, openCode)
}

func openCode(ctx context.Context, path string, _ time.Time) (all []session, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	rows, err := sqlite.Read(ctx, path, "session", "id", "directory", "time_updated", "time_archived")
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		id, _ := row.Text("id")
		at, err := row.Millis("time_updated")
		if !row.Null("time_archived") {
			continue
		}
		if err != nil || at == nil { // when it worked is not known: it may be now
			at = new(time.Now())
		}
		directory, _ := row.Text("directory")
		all = append(all, session{id, directory, *at})
	}
	return all, nil
}
