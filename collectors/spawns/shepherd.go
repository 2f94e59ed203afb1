package spawns

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"winnow/collectors/records"
	"winnow/collectors/store"
	"winnow/engine/snapshot"
	"winnow/internal/sqlite"
)

// readShepherd reads the helper agents that Shepherd started: reviews, plan gates, doc agents, and recaps and rundowns, which
// work in a scratch folder. Shepherd drops a row 90 days after its start, so that none of them says nothing.
func readShepherd(ctx context.Context, path string) (all []snapshot.Spawn, bad int, err error) {
	const table = "reviewer_spawns"
	rows, err := store.ReadShepherd(ctx, path, table,
		"reviewerSessionId", "taskSessionId", "kind", "worktreePath", "spawnedAt", "completedAt")
	if err != nil {
		return nil, 0, err
	}
	var failed records.Bad
	unsure := 0
	for i, row := range rows {
		s, err := ofShepherd(row)
		if err != nil {
			failed.Add(fmt.Sprintf("%s: %s", table, cmp.Or(s.ID, fmt.Sprintf("row %d", i+1))), err)
			continue
		}
		var whole bool
		if s.SpawnedAt, s.CompletedAt, whole = sqlite.Span(row, "spawnedAt", "completedAt"); !whole {
			unsure++
		}
		all = append(all, s)
	}
	if failed.Err != nil {
		err = fmt.Errorf("read %s: %w", path, failed.Err)
	}
	return all, failed.Count + unsure, err
}

// ofShepherd reads what a row says of who works where. A row that names no folder protects nothing, so it cannot be passed over.
func ofShepherd(row sqlite.Row) (s snapshot.Spawn, err error) {
	if s.ID, err = row.Text("reviewerSessionId"); err != nil {
		return s, err
	}
	if s.Owner, err = row.Text("taskSessionId"); err != nil {
		return s, err
	}
	if s.Kind, err = row.Text("kind"); err != nil {
		return s, err
	}
	if s.Path, err = row.Path("worktreePath"); err != nil {
		return s, err
	}
	if s.ID == "" || s.Path == "" {
		return s, errors.New("it has no reviewerSessionId or no worktreePath")
	}
	return s, nil
}
