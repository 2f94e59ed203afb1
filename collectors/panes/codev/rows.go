package codev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"winnow/collectors"
	"winnow/collectors/store"
)

// records is what the store holds of terminals and whose they are.
type records struct {
	sessions   []session
	builders   []builder
	architects []architect
	// workspaces are the folders that Codev ever worked in.
	workspaces []string
	// sessionsWhole and buildersWhole say that no row of theirs was left out. Only then is one that is not there none.
	sessionsWhole, buildersWhole bool
	bad                          int
}

// session is a row of terminal_sessions. Empty is not said, and so is a pid of 0.
type session struct {
	id, workspace, kind, role, label, cwd, socket string
	pid                                           int
	// started is when the shellper of that pid began; nil in old rows.
	started *time.Time
}

// builder is a row of builders, architect one of architect.
type builder struct{ workspace, id, worktree, terminal string }

type architect struct{ workspace, name, terminal string }

// terminalID is what Codev's ids look like. They go into a candidate's id and into requests.
var terminalID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// readRecords reads the store at path. Terminals are read before builders, so that a builder of a terminal that is there is never missed
// for having been written in between. A row that cannot be read fails the reading, and the others are given all the same.
//
// The error wraps collectors.ErrAbsent only where there is no store at all.
func readRecords(ctx context.Context, path string) (r *records, err error) {
	r = &records{}
	db, err := store.Open(ctx, path)
	if err != nil {
		return r, err
	}
	defer func() { err = cmp.Or(err, db.Close()) }()
	rows := tables{ctx: ctx, db: db, path: path}
	r.sessionsWhole = rows.each("terminal_sessions", []string{"id", "workspace_path", "type", "role_id", "pid", "shellper_socket", "shellper_pid",
		"shellper_start_time", "label", "cwd"}, func(row store.Row) error {
		s, err := ofSession(row)
		if err == nil {
			r.sessions = append(r.sessions, s)
		}
		return err
	})
	r.buildersWhole = rows.each("builders", []string{"workspace_path", "id", "worktree", "terminal_id"}, func(row store.Row) error {
		b, err := ofBuilder(row)
		if err == nil {
			r.builders = append(r.builders, b)
		}
		return err
	})
	rows.each("architect", []string{"workspace_path", "id", "terminal_id"}, func(row store.Row) error {
		a, err := ofArchitect(row)
		if err == nil {
			r.architects = append(r.architects, a)
		}
		return err
	})
	rows.each("known_workspaces", []string{"workspace_path"}, func(row store.Row) error {
		path, err := row.Path("workspace_path")
		if err == nil && path != "" {
			r.workspaces = append(r.workspaces, path)
		}
		return err
	})
	r.bad = rows.bad
	slices.SortFunc(r.sessions, func(a, b session) int { return cmp.Compare(a.id, b.id) })
	return r, rows.err
}

// tables reads one table after the other, and keeps the first error.
type tables struct {
	ctx  context.Context
	db   *store.DB
	path string
	bad  int
	err  error
	// stopped is true once a table could not be read: the next would be waited for as long.
	stopped bool
}

// each gives every row to take, and reports whether all could be read.
func (t *tables) each(table string, columns []string, take func(store.Row) error) bool {
	if t.stopped {
		return false
	}
	rows, err := t.db.Rows(t.ctx, table, columns...)
	if err != nil {
		t.stopped = true
		if errors.Is(err, store.ErrLayout) {
			err = fmt.Errorf("%w; a newer or older Codev wrote it, or another program: this version of winnow reads the store of Codev 3.3", err)
		} else if errors.Is(err, store.ErrUnfinished) {
			err = fmt.Errorf("%w; start the Tower once, which undoes the change", err)
		}
		t.err = cmp.Or(t.err, err)
		return false
	}
	whole := true
	for i, row := range rows {
		if err := take(row); err != nil {
			whole = false
			t.bad++
			t.err = cmp.Or(t.err, fmt.Errorf("read %s: %s: row %d: %w; let Codev mend or drop that row", t.path, table, i+1, err))
		}
	}
	return whole
}

// field is a column of text and where it goes.
type field struct {
	column string
	to     *string
}

func texts(row store.Row, fields ...field) (err error) {
	for _, f := range fields {
		if *f.to, err = row.Text(f.column); err != nil {
			return err
		}
	}
	return nil
}

func paths(row store.Row, fields ...field) (err error) {
	for _, f := range fields {
		if *f.to, err = row.Path(f.column); err != nil {
			return err
		}
	}
	return nil
}

func ofSession(row store.Row) (s session, err error) {
	err = texts(row, field{"id", &s.id}, field{"type", &s.kind}, field{"role_id", &s.role}, field{"label", &s.label})
	if err == nil {
		err = paths(row, field{"workspace_path", &s.workspace}, field{"cwd", &s.cwd}, field{"shellper_socket", &s.socket})
	}
	switch {
	case err != nil:
		return s, err
	case !terminalID.MatchString(s.id):
		return s, errors.New("its id is none that Codev gives")
	case s.workspace == "":
		return s, errors.New("it has no workspace_path")
	}
	if s.started, err = row.Millis("shellper_start_time"); err != nil {
		return s, err
	}
	for _, column := range []string{"pid", "shellper_pid"} {
		pid, err := row.Int(column)
		if err != nil {
			return s, err
		}
		if pid != nil && *pid > 0 && *pid < 1<<31 {
			s.pid = int(*pid)
		}
	}
	return s, nil
}

func ofBuilder(row store.Row) (b builder, err error) {
	err = texts(row, field{"id", &b.id}, field{"terminal_id", &b.terminal})
	if err == nil {
		err = paths(row, field{"workspace_path", &b.workspace}, field{"worktree", &b.worktree})
	}
	if err == nil && (b.id == "" || b.workspace == "") {
		err = errors.New("it has no id or no workspace_path")
	}
	return b, err
}

func ofArchitect(row store.Row) (a architect, err error) {
	err = texts(row, field{"id", &a.name}, field{"terminal_id", &a.terminal})
	if err == nil {
		err = paths(row, field{"workspace_path", &a.workspace})
	}
	return a, err
}

// socketFolders are the folders in which the sockets of the rows lie.
func (r *records) socketFolders() map[string]bool {
	out := map[string]bool{}
	for _, s := range r.sessions {
		if s.socket != "" {
			out[resolved(filepath.Dir(s.socket))] = true
		}
	}
	return out
}

// missing reports whether err says that there is no store.
func missing(err error) bool { return errors.Is(err, collectors.ErrAbsent) }
