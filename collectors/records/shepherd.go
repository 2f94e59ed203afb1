package records

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/internal/sys/sqlite"
)

// ShepherdStore gives the path of this user's Shepherd store, and whether there is one: it is where SHEPHERD_DB says, or at
// ~/.shepherd/shepherd.db. What could not be looked at is taken to be there, so that reading it says why it cannot be read; so is
// a relative SHEPHERD_DB, of which only Shepherd knows where it leads, and what lies in a home that is not known ("").
func ShepherdStore(env func(string) string, home string) (path string, ok bool) {
	return store(cmp.Or(env("SHEPHERD_DB"), filepath.Join(home, ".shepherd", "shepherd.db")))
}

func store(path string) (abs string, ok bool) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path, true
	}
	_, err = os.Lstat(abs)
	gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	return abs, !gone || !filepath.IsAbs(path)
}

// readShepherd reads columns of a table of the Shepherd store at path, as sqlite.Read does.
func readShepherd(ctx context.Context, path, table string, columns ...string) ([]sqlite.Row, error) {
	rows, err := sqlite.Read(ctx, path, table, columns...)
	return rows, sqlite.Program{Name: "Shepherd", Version: "1.46", Start: "Shepherd"}.Explain(err)
}

// isolated is the column that says whether the session has a worktree of its own, or works in the repository itself.
const isolated = "isolated"

// readSessions reads Shepherd's sessions. A session that is not in the store may be another instance's, or was archived so long
// ago that its row was dropped (30 days, or beyond the newest 250): that there is no row says nothing.
//
// What it asks for is all that it sees: no prompt, no name, no branch. Of what Shepherd last heard of a pull request it keeps the number, the
// state and the commit.
func readSessions(ctx context.Context, path string, o Options) ([]snapshot.Record, int, error) {
	const table = "sessions"
	columns := []string{"id", "status", "worktreePath", "terminal", "agentProvider", "createdAt", "archivedAt", "mergingSince", "herdrSession",
		"herdrAgentId", "terminalTabId"}
	var rows []sqlite.Row
	var err error
	// Without these columns it is only not known how the session was archived, or whose the folders are.
	for _, more := range [][]string{{isolated, archiveReason, mergingNumber}, {isolated}, nil} {
		if rows, err = readShepherd(ctx, path, table, append(slices.Clone(columns), more...)...); !errors.Is(err, sqlite.ErrLayout) {
			break
		}
	}
	if err != nil {
		return nil, 0, err
	}
	heard := readHeard(ctx, path)
	s := newStates()
	bad, err := readRows(path, table, rows, func(row sqlite.Row) (snapshot.Record, bool, error) {
		e, err := ofSession(row)
		if err != nil {
			return e, true, err
		}
		whole := ends(row, &e, o)
		e.PullRequest = cmp.Or(merged(row, &e), heard[e.ID])
		return e, whole, s.add(e)
	})
	return s.sorted(), bad, err
}

// The columns that say why a session was archived (operator, merged, drain or relaunch), and which pull request it was merging.
const (
	archiveReason = "archiveReason"
	mergingNumber = "mergingPrNumber"
)

// merged gives the pull request of a session that Shepherd archived because it was merged. nil is any other session.
func merged(row sqlite.Row, e *snapshot.Record) *snapshot.PullRequest {
	if reason, err := row.Text(archiveReason); err != nil || reason != "merged" || !*e.Terminal {
		return nil
	}
	p := &snapshot.PullRequest{By: "Shepherd", State: snapshot.PullMerged}
	if n, err := row.Int(mergingNumber); err == nil && n != nil && *n > 0 {
		p.Number = n
	}
	return p
}

// readHeard reads what Shepherd last heard from the forge of each session's pull request, by the session's id. It is evidence that decides nothing,
// so that what cannot be read is left out. Shepherd drops the row when it archives the session.
func readHeard(ctx context.Context, path string) map[string]*snapshot.PullRequest {
	rows, err := readShepherd(ctx, path, "session_git_cache", "sessionId", "gitJson")
	if err != nil {
		return nil
	}
	heard := map[string]*snapshot.PullRequest{}
	for _, row := range rows {
		id, err := row.Text("sessionId")
		text, terr := row.Text("gitJson")
		if err != nil || terr != nil || len(text) > maxText {
			continue
		}
		var said struct {
			State  string `json:"state"`
			Number *int64 `json:"number"`
			Head   string `json:"headSha"`
		}
		known := []string{snapshot.PullOpen, snapshot.PullMerged, snapshot.PullClosed}
		if json.Unmarshal([]byte(text), &said) != nil || !slices.Contains(known, said.State) {
			continue
		}
		p := &snapshot.PullRequest{By: "Shepherd", State: said.State}
		if said.Number != nil && *said.Number > 0 {
			p.Number = said.Number
		}
		if gitsafe.IsOID(said.Head) {
			p.Head = said.Head
		}
		heard[id] = p
	}
	return heard
}

// readRows reads the rows of a table. It counts those that cannot be read whole, and its error is the first of a row that cannot be read.
func readRows(path, table string, rows []sqlite.Row, read func(sqlite.Row) (r snapshot.Record, whole bool, err error)) (int, error) {
	var failed Bad
	unsure := 0
	for i, row := range rows {
		r, whole, err := read(row)
		if err != nil {
			failed.Add(fmt.Sprintf("%s: %s", table, cmp.Or(r.ID, fmt.Sprintf("row %d", i+1))), err)
		}
		if !whole {
			unsure++
		}
	}
	if failed.Err != nil {
		return failed.Count + unsure, fmt.Errorf("read %s: %w", path, failed.Err)
	}
	return unsure, nil
}

// ofSession reads what a row says of what the session owns.
func ofSession(row sqlite.Row) (e snapshot.Record, err error) {
	e = snapshot.Record{
		ID: readField(&err, row.Text, "id"), Status: readField(&err, row.Text, "status"), Role: readField(&err, row.Text, "agentProvider"),
		Server: readField(&err, row.Text, "herdrSession"), Pane: readField(&err, row.Text, "herdrAgentId"), Tab: readField(&err, row.Text, "terminalTabId"),
		Path: readField(&err, row.Path, "worktreePath"),
	}
	if err == nil && (e.ID == "" || e.Path == "") {
		err = errors.New("it has no id or no worktreePath")
	}
	if own, none := row.Int(isolated); none == nil && own != nil {
		e.Own = new(*own == 1)
	}
	if clean := readField(&err, row.Int, "terminal"); clean != nil && *clean != 0 {
		e.Role = "terminal"
	}
	e.Marker = e.ID
	return e, err
}

// ends says whether the session has ended, and always says it outright: over is a word for it (archived) with the time of it, and no merge
// under way. Archived without that time is a session that is being restored, or a row older than the column. It reports whether the
// row's times could be read; one whose times could not has not ended.
func ends(row sqlite.Row, e *snapshot.Record, o Options) (whole bool) {
	started, ended, whole := sqlite.Span(row, "createdAt", "archivedAt")
	e.StartedAt = started
	e.Terminal = new(o.ended(e.Status) && ended != nil && row.Null("mergingSince"))
	if *e.Terminal {
		e.EndedAt = ended
	}
	e.Status = status(e.Status)
	return whole
}

// readReviewers reads the helper agents that Shepherd started: reviews, plan gates, doc agents, and recaps and rundowns, which
// work in a scratch folder. Shepherd drops a row 90 days after its start, so that a missing row says nothing.
func readReviewers(ctx context.Context, path string, _ Options) ([]snapshot.Record, int, error) {
	const table = "reviewer_spawns"
	rows, err := readShepherd(ctx, path, table,
		"reviewerSessionId", "taskSessionId", "kind", "worktreePath", "spawnedAt", "completedAt")
	if err != nil {
		return nil, 0, err
	}
	var all []snapshot.Record
	bad, err := readRows(path, table, rows, func(row sqlite.Row) (s snapshot.Record, whole bool, err error) {
		s = snapshot.Record{
			ID: readField(&err, row.Text, "reviewerSessionId"), Owner: readField(&err, row.Text, "taskSessionId"), Kind: readField(&err, row.Text, "kind"),
			Path: readField(&err, row.Path, "worktreePath"),
		}
		if err == nil && (s.ID == "" || s.Path == "") { // one that names no folder protects nothing, so it cannot be passed over
			err = errors.New("it has no reviewerSessionId or no worktreePath")
		}
		if err != nil {
			return s, true, err
		}
		s.SpawnedAt, s.CompletedAt, whole = sqlite.Span(row, "spawnedAt", "completedAt")
		all = append(all, s)
		return s, whole, nil
	})
	return all, bad, err
}
