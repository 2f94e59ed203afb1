package tower

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/sqlite"
)

// StoreFile is the file of a state folder that is Codev's store, and a registry of builders.
const StoreFile = "global.db"

// Records is what the store holds of terminals and whose they are.
type Records struct {
	Sessions   []Session
	Builders   []Builder
	Architects []Architect
	// Workspaces are the folders that Codev ever worked in.
	Workspaces []string
	// SessionsWhole and BuildersWhole say that no row of theirs was left out. Only then is a row that is not there missing.
	SessionsWhole, BuildersWhole bool
	// Bad counts the rows that could not be read.
	Bad int
}

// Session is a row of terminal_sessions. An empty string or a pid of 0 means NULL.
type Session struct {
	ID, Workspace, Kind, Role, Label, Cwd, Socket string
	PID                                           int
	// Started is when the shellper of that pid began; nil in old rows.
	Started *time.Time
}

// Means reports whether the row may mean this process. One that does not say when its process began is trusted.
func (s *Session) Means(p *Process) bool {
	return s.PID == p.PID && (s.Started == nil || p.Since(*s.Started)) || s.Socket != "" && SamePath(s.Socket, p.Socket)
}

// Builder is a row of builders, Architect one of architect.
type Builder struct{ Workspace, ID, Worktree, Terminal string }

type Architect struct{ Workspace, Name, Terminal string }

// ReadRecords reads the store at path. Terminals are read before builders, so that a builder of a terminal that is there is never missed
// for having been written in between. A row that cannot be read fails the reading, and the others are given all the same.
//
// The error wraps safeopen.ErrAbsent only where there is no store at all.
func ReadRecords(ctx context.Context, path string) (r *Records, err error) {
	r = &Records{}
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		return r, err
	}
	defer func() { err = cmp.Or(err, db.Close()) }()
	rows := tables{ctx: ctx, db: db, path: path}
	r.Sessions, r.SessionsWhole = readRows(&rows, "terminal_sessions", ofSession, "id", "workspace_path", "type", "role_id", "pid", "shellper_socket",
		"shellper_pid", "shellper_start_time", "label", "cwd")
	r.Builders, r.BuildersWhole = readRows(&rows, "builders", ofBuilder, "workspace_path", "id", "worktree", "terminal_id")
	r.Architects, _ = readRows(&rows, "architect", ofArchitect, "workspace_path", "id", "terminal_id")
	r.Workspaces, _ = readRows(&rows, "known_workspaces", func(row sqlite.Row) (string, error) { return row.Path("workspace_path") }, "workspace_path")
	r.Workspaces = slices.DeleteFunc(r.Workspaces, func(path string) bool { return path == "" })
	r.Bad = rows.bad
	slices.SortFunc(r.Sessions, func(a, b Session) int { return cmp.Compare(a.ID, b.ID) })
	return r, rows.err
}

// tables reads one table after the other, and keeps the first error.
type tables struct {
	ctx  context.Context
	db   *sqlite.DB
	path string
	bad  int
	err  error
	// stopped is true once a table could not be read: the next would be waited for as long.
	stopped bool
}

// readRows gives what its rows are, and reports whether all could be read.
func readRows[T any](t *tables, table string, of func(sqlite.Row) (T, error), columns ...string) (out []T, whole bool) {
	if t.stopped {
		return nil, false
	}
	rows, err := t.db.Rows(t.ctx, table, columns...)
	if err != nil {
		t.stopped = true
		t.err = cmp.Or(t.err, sqlite.Program{Name: "Codev", Version: "3.3", Start: "the Tower"}.Explain(err))
		return nil, false
	}
	whole = true
	for i, row := range rows {
		one, err := of(row)
		if err == nil {
			out = append(out, one)
			continue
		}
		whole = false
		t.bad++
		t.err = cmp.Or(t.err, fmt.Errorf("read %s: %s: row %d: %w; let Codev mend or drop that row", t.path, table, i+1, err))
	}
	return out, whole
}

// field is a column of text and where it goes.
type field struct {
	column string
	to     *string
}

// take reads columns, by Row.Text or Row.Path.
func take(read func(string) (string, error), fields ...field) (err error) {
	for _, f := range fields {
		if *f.to, err = read(f.column); err != nil {
			return err
		}
	}
	return nil
}

func ofSession(row sqlite.Row) (s Session, err error) {
	err = take(row.Text, field{"id", &s.ID}, field{"type", &s.Kind}, field{"role_id", &s.Role}, field{"label", &s.Label})
	if err == nil {
		err = take(row.Path, field{"workspace_path", &s.Workspace}, field{"cwd", &s.Cwd}, field{"shellper_socket", &s.Socket})
	}
	switch {
	case err != nil:
		return s, err
	case !ID.MatchString(s.ID):
		return s, errors.New("its id does not have the form of Codev's ids")
	case s.Workspace == "":
		return s, errors.New("it has no workspace_path")
	}
	if s.Started, err = row.Millis("shellper_start_time"); err != nil {
		return s, err
	}
	for _, column := range []string{"pid", "shellper_pid"} {
		pid, err := row.Int(column)
		if err != nil {
			return s, err
		}
		if pid != nil && *pid > 0 && *pid < 1<<31 {
			s.PID = int(*pid)
		}
	}
	return s, nil
}

func ofBuilder(row sqlite.Row) (b Builder, err error) {
	err = take(row.Text, field{"id", &b.ID}, field{"terminal_id", &b.Terminal})
	if err == nil {
		err = take(row.Path, field{"workspace_path", &b.Workspace}, field{"worktree", &b.Worktree})
	}
	if err == nil && (b.ID == "" || b.Workspace == "") {
		err = errors.New("it has no id or no workspace_path")
	}
	return b, err
}

func ofArchitect(row sqlite.Row) (a Architect, err error) {
	err = take(row.Text, field{"id", &a.Name}, field{"terminal_id", &a.Terminal})
	if err == nil {
		err = take(row.Path, field{"workspace_path", &a.Workspace})
	}
	return a, err
}

// SocketFolders are the real paths of the folders in which the sockets of the rows lie.
func (r *Records) SocketFolders() map[string]bool {
	out := map[string]bool{}
	for _, s := range r.Sessions {
		if s.Socket != "" {
			out[Resolved(filepath.Dir(s.Socket))] = true
		}
	}
	return out
}

// Sockets are the sockets that the rows of the store at path name.
func Sockets(ctx context.Context, path string) (out []string, err error) {
	rows, err := sqlite.Read(ctx, path, "terminal_sessions", "shellper_socket")
	for _, row := range rows {
		socket, bad := row.Path("shellper_socket")
		err = cmp.Or(err, bad)
		if socket != "" {
			out = append(out, socket)
		}
	}
	return out, err
}
