package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"winnow/collectors/records"
	"winnow/engine/snapshot"
	"winnow/internal/sqlite"
)

// readCodev reads Codev's builders. A row says that there is a builder, whatever its status: Codev drops the row when the builder is
// cleaned up, so that no entry is ever over. Two workspaces may have a builder of the same id; both entries are given.
//
// What it asks for is all that it sees: no task, no name, no branch.
func readCodev(ctx context.Context, path string) (all []snapshot.Entry, bad int, err error) {
	const table = "builders"
	rows, err := sqlite.Read(ctx, path, table, "workspace_path", "id", "status", "worktree", "started_at")
	if err != nil {
		return nil, 0, sqlite.Program{Name: "Codev", Version: "3.3", Start: "the Tower"}.Explain(err)
	}
	var failed records.Bad
	unsure := 0
	for i, row := range rows {
		e, err := ofCodev(row)
		if err != nil {
			failed.Add(fmt.Sprintf("%s: %s", table, cmp.Or(e.ID, fmt.Sprintf("row %d", i+1))), err)
			continue
		}
		if e.StartedAt = utc(row, "started_at"); e.StartedAt == nil {
			unsure++
		}
		all = append(all, e)
	}
	if failed.Err != nil {
		err = fmt.Errorf("read %s: %w", path, failed.Err)
	}
	slices.SortFunc(all, func(a, b snapshot.Entry) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Path, b.Path)) })
	return all, failed.Count + unsure, err
}

func ofCodev(row sqlite.Row) (e snapshot.Entry, err error) {
	if e.ID, err = row.Text("id"); err != nil {
		return e, err
	}
	if e.Status, err = row.Text("status"); err != nil {
		return e, err
	}
	if e.Path, err = row.Path("worktree"); err != nil {
		return e, err
	}
	workspace, err := row.Path("workspace_path")
	if err != nil {
		return e, err
	}
	if e.ID == "" || e.Path == "" || workspace == "" {
		return e, errors.New("it has no id, no worktree or no workspace_path")
	}
	e.Role, e.Terminal = "builder", new(false)
	return e, nil
}

// utc gives the time in a column that holds UTC without saying so, as SQLite's datetime('now') writes it; nil where it is none.
func utc(row sqlite.Row, column string) *time.Time {
	text, err := row.Text(column)
	if err != nil {
		return nil
	}
	at, err := time.Parse(time.DateTime, text)
	if err != nil || at.Unix() < 1e9 || at.Unix() >= 1e10 {
		return nil
	}
	return new(at.UTC())
}
