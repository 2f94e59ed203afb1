package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"winnow/collectors/records"
	"winnow/collectors/store"
	"winnow/engine/snapshot"
	"winnow/internal/sqlite"
)

// isolated is the column that says whether the session has a worktree of its own, or works in the repository itself.
const isolated = "isolated"

// archived is Shepherd's only word for a session that is over.
const archived = "archived"

// readShepherd reads Shepherd's sessions. A session that is not in the store may be another instance's, or was archived so long
// ago that its row was dropped (30 days, or beyond the newest 250): that there is no row says nothing.
//
// What it asks for is all that it sees: no prompt, no name, no branch.
func readShepherd(ctx context.Context, path string) (all []snapshot.Entry, bad int, err error) {
	const table = "sessions"
	columns := []string{"id", "status", "worktreePath", "terminal", "agentProvider", "createdAt", "archivedAt", "mergingSince", "herdrSession",
		"herdrAgentId", "terminalTabId"}
	rows, err := store.ReadShepherd(ctx, path, table, append(slices.Clone(columns), isolated)...)
	if errors.Is(err, sqlite.ErrLayout) { // without that column it is only not known whose the folders are
		rows, err = store.ReadShepherd(ctx, path, table, columns...)
	}
	if err != nil {
		return nil, 0, err
	}
	var failed records.Bad
	unsure := 0
	s := newStates()
	for i, row := range rows {
		e, err := ofShepherd(row)
		if err == nil {
			if !ends(row, &e) {
				unsure++
			}
			err = s.add(e)
		}
		if err != nil {
			failed.Add(fmt.Sprintf("%s: %s", table, cmp.Or(e.ID, fmt.Sprintf("row %d", i+1))), err)
		}
	}
	if failed.Err != nil {
		err = fmt.Errorf("read %s: %w", path, failed.Err)
	}
	return s.sorted(), failed.Count + unsure, err
}

// ofShepherd reads what a row says of what the session owns.
func ofShepherd(row sqlite.Row) (e snapshot.Entry, err error) {
	for _, f := range []struct {
		column string
		to     *string
	}{
		{"id", &e.ID}, {"status", &e.Status}, {"agentProvider", &e.Role}, {"herdrSession", &e.Server}, {"herdrAgentId", &e.Pane},
		{"terminalTabId", &e.Tab},
	} {
		if *f.to, err = row.Text(f.column); err != nil {
			return e, err
		}
	}
	if e.Path, err = row.Path("worktreePath"); err != nil {
		return e, err
	}
	if e.ID == "" || e.Path == "" {
		return e, errors.New("it has no id or no worktreePath")
	}
	if own, err := row.Int(isolated); err == nil && own != nil {
		e.Own = new(*own == 1)
	}
	clean, err := row.Int("terminal")
	if err != nil {
		return e, err
	}
	if clean != nil && *clean != 0 {
		e.Role = "terminal"
	}
	e.Marker = e.ID
	return e, nil
}

// ends says whether the session is over, and always says it outright: over is archived with the time of it, and no merge under
// way. Archived without that time is a session that is being restored, or a row older than the column. It reports whether the
// row's times could be read; one whose times could not is not over.
func ends(row sqlite.Row, e *snapshot.Entry) (whole bool) {
	started, ended, whole := sqlite.Span(row, "createdAt", "archivedAt")
	e.StartedAt = started
	e.Terminal = new(e.Status == archived && ended != nil && row.Null("mergingSince"))
	if *e.Terminal {
		e.EndedAt = ended
	}
	e.Status = strings.ToLower(strings.TrimSpace(e.Status))
	return whole
}
