package records

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/sqlite"
)

// readCodev reads Codev's builders. A row with any status says that there is a builder: Codev drops the row when the builder is
// cleaned up, so that by default no status says that an entry has ended. Two workspaces may have a builder of the same id; both entries are given.
//
// What it asks for is all that it sees: no task, no name, no branch.
func readCodev(ctx context.Context, path string, o Options) ([]snapshot.Record, int, error) {
	rows, err := sqlite.Read(ctx, path, "builders", "workspace_path", "id", "status", "worktree", "started_at")
	if err != nil {
		return nil, 0, sqlite.Program{Name: "Codev", Version: "3.3", Start: "the Tower"}.Explain(err)
	}
	var all []snapshot.Record
	bad, err := readRows(path, "builders", rows, func(row sqlite.Row) (e snapshot.Record, whole bool, err error) {
		if e, err = ofCodev(row); err != nil {
			return e, true, err
		}
		e.Terminal, e.StartedAt = new(o.ended(e.Status)), moment(row, "started_at", time.DateTime)
		if e.Status == "pr" { // the builder has opened a pull request and waits
			e.PullRequest = &snapshot.PullRequest{By: "Codev", State: snapshot.PullOpen}
		}
		all = append(all, e)
		return e, e.StartedAt != nil, nil
	})
	slices.SortFunc(all, func(a, b snapshot.Record) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Path, b.Path)) })
	return all, bad, err
}

func ofCodev(row sqlite.Row) (e snapshot.Record, err error) {
	e = snapshot.Record{
		ID: readField(&err, row.Text, "id"), Status: readField(&err, row.Text, "status"), Path: readField(&err, row.Path, "worktree"), Role: "builder",
	}
	workspace := readField(&err, row.Path, "workspace_path")
	if err == nil && (e.ID == "" || e.Path == "" || workspace == "") {
		err = errors.New("it has no id, no worktree or no workspace_path")
	}
	return e, err
}

// moment gives the time in a column of text in the first of the layouts that fits, UTC where the layout has no zone; nil where it is not a time.
func moment(row sqlite.Row, column string, layouts ...string) *time.Time {
	text, err := row.Text(column)
	for _, layout := range layouts {
		at, wrong := time.Parse(layout, text)
		if err == nil && wrong == nil && at.Unix() >= 1e9 && at.Unix() < 1e10 {
			return new(at.UTC())
		}
	}
	return nil
}
