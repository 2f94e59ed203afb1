package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/sqlite"
)

// OrchestratorStore gives the path of this user's store of Agent Orchestrator, as ShepherdStore does: ao.db where AO_DATA_DIR says, or in ~/.ao/data.
func OrchestratorStore(env func(string) string, home string) (path string, ok bool) {
	return store(filepath.Join(cmp.Or(strings.TrimSpace(env("AO_DATA_DIR")), filepath.Join(home, ".ao", "data")), "ao.db"))
}

// readOrchestrator reads Agent Orchestrator's sessions. Besides its own folder a session may have worktrees in several repositories: each is an entry.
//
// A session that is terminated has not ended while one of its worktrees is in another state than active: when Agent Orchestrator stops, it terminates its
// sessions too, writes that of their worktrees, and starts them when it is started again. That is read before and after the sessions, so that
// a change between two readings shows. What it asks for is all that it sees: no prompt, no name, no branch.
func readOrchestrator(ctx context.Context, path string, _ Options) ([]snapshot.Record, int, error) {
	var err error
	read := func(table string, columns ...string) (rows []sqlite.Row) {
		if err == nil {
			rows, err = sqlite.Read(ctx, path, table, columns...)
		}
		return rows
	}
	before := read("session_worktrees", "session_id", "worktree_path", "state")
	sessions := read("sessions", "id", "is_terminated", "activity_state", "activity_last_at", "created_at", "workspace_path", "runtime_handle_id")
	after := read("session_worktrees", "session_id", "worktree_path", "state")
	if err != nil {
		known := sqlite.Program{Name: "Agent Orchestrator", Version: "with the table session_worktrees", Start: "ao"}
		return nil, 0, known.Explain(err)
	}
	trees, suspended := map[string][]string{}, map[string]bool{}
	for _, row := range append(before, after...) {
		id, tree := readField(&err, row.Text, "session_id"), readField(&err, row.Path, "worktree_path")
		suspended[id] = suspended[id] || readField(&err, row.Text, "state") != "active"
		trees[id] = append(trees[id], tree)
	}
	if err != nil {
		return nil, 1, fmt.Errorf("read %s: session_worktrees: %w", path, err)
	}
	s := newStates()
	bad, err := readRows(path, "sessions", sessions, func(row sqlite.Row) (snapshot.Record, bool, error) {
		e, whole, err := ofOrchestrator(row, suspended)
		for _, at := range append(trees[e.ID], e.Path) {
			if e.Path, e.Own = at, nil; at != "" {
				e.Own = new(strings.HasPrefix(at, filepath.Join(filepath.Dir(path), "worktrees")+"/"))
			}
			if err == nil {
				err = s.add(e)
			}
		}
		return e, whole, err
	})
	return s.sorted(), bad, err
}

// ofOrchestrator reads what a row says. One whose times could not be read has not ended.
func ofOrchestrator(row sqlite.Row, suspended map[string]bool) (e snapshot.Record, whole bool, err error) {
	e = snapshot.Record{
		ID: readField(&err, row.Text, "id"), Status: status(readField(&err, row.Text, "activity_state")), Role: "session",
		Path: readField(&err, row.Path, "workspace_path"), Session: readField(&err, row.Text, "runtime_handle_id"),
	}
	terminated := readField(&err, row.Int, "is_terminated")
	if err == nil && e.ID == "" {
		err = errors.New("it has no id")
	}
	e.Marker, e.StartedAt = e.ID, moment(row, "created_at", orchestratorTimes...)
	last := moment(row, "activity_last_at", orchestratorTimes...)
	whole = e.StartedAt != nil && last != nil
	e.Terminal = new(err == nil && terminated != nil && *terminated == 1 && e.Status == "exited" && whole && !last.Before(*e.StartedAt) && !suspended[e.ID])
	if *e.Terminal {
		e.EndedAt = last
	}
	return e, whole, err
}

// orchestratorTimes are as its driver writes them, and as SQLite does.
var orchestratorTimes = []string{"2006-01-02 15:04:05.999999999 -0700 MST", "2006-01-02 15:04:05.999999999-07:00", time.DateTime}

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
		e = snapshot.Record{
			ID: readField(&err, row.Text, "id"), Status: readField(&err, row.Text, "status"), Path: readField(&err, row.Path, "worktree"), Role: "builder",
		}
		workspace := readField(&err, row.Path, "workspace_path")
		if err == nil && (e.ID == "" || e.Path == "" || workspace == "") {
			err = errors.New("it has no id, no worktree or no workspace_path")
		}
		if err != nil {
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
