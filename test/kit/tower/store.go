package tower

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"
	"os"
	"time"

	"modernc.org/sqlite"
)

// The tables of global.db at version 17, with the columns, their order and their checks. Of those that nothing here fills only what is known.
const tables = `
CREATE TABLE IF NOT EXISTS _migrations (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL DEFAULT (datetime('now')));
CREATE TABLE IF NOT EXISTS architect (
	workspace_path TEXT NOT NULL, id TEXT NOT NULL, pid INTEGER NOT NULL DEFAULT 0, port INTEGER NOT NULL DEFAULT 0, cmd TEXT NOT NULL,
	started_at TEXT NOT NULL DEFAULT (datetime('now')), terminal_id TEXT, session_id TEXT, PRIMARY KEY (workspace_path, id));
CREATE TABLE IF NOT EXISTS builders (
	workspace_path TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, port INTEGER NOT NULL DEFAULT 0, pid INTEGER NOT NULL DEFAULT 0,
	status TEXT NOT NULL DEFAULT 'spawning' CHECK (status IN ('spawning', 'implementing', 'blocked', 'pr', 'complete')),
	phase TEXT NOT NULL DEFAULT '', worktree TEXT NOT NULL, branch TEXT NOT NULL,
	type TEXT NOT NULL CHECK (type IN ('spec', 'task', 'protocol', 'shell', 'worktree', 'bugfix', 'pir')),
	task_text TEXT, protocol_name TEXT, issue_number TEXT, terminal_id TEXT, spawned_by_architect TEXT,
	started_at TEXT NOT NULL DEFAULT (datetime('now')), updated_at TEXT NOT NULL DEFAULT (datetime('now')), PRIMARY KEY (workspace_path, id));
CREATE TRIGGER IF NOT EXISTS builders_updated_at AFTER UPDATE ON builders BEGIN
	UPDATE builders SET updated_at = datetime('now') WHERE workspace_path = NEW.workspace_path AND id = NEW.id; END;
CREATE TABLE IF NOT EXISTS terminal_sessions (
	id TEXT PRIMARY KEY, workspace_path TEXT NOT NULL, type TEXT NOT NULL CHECK (type IN ('architect', 'builder', 'shell')), role_id TEXT,
	pid INTEGER, shellper_socket TEXT, shellper_pid INTEGER, shellper_start_time INTEGER, label TEXT, cwd TEXT, command TEXT,
	created_at TEXT NOT NULL DEFAULT (datetime('now')));
CREATE TABLE IF NOT EXISTS known_workspaces (
	workspace_path TEXT PRIMARY KEY, name TEXT NOT NULL, last_launched_at TEXT NOT NULL DEFAULT (datetime('now')));
CREATE TABLE IF NOT EXISTS mailbox (
	id TEXT PRIMARY KEY, workspace_path TEXT NOT NULL, to_agent TEXT NOT NULL, terminal_id TEXT, from_agent TEXT, from_workspace TEXT,
	body TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'held' CHECK (status IN ('held', 'delivered', 'superseded', 'dismissed')),
	reason TEXT CHECK (reason IN ('busy', 'no-profile', 'no-live-pty')), escalated INTEGER NOT NULL DEFAULT 0, not_before INTEGER,
	created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, resolved_at INTEGER);
CREATE TABLE IF NOT EXISTS file_tabs (id TEXT PRIMARY KEY, workspace_path TEXT NOT NULL, file_path TEXT NOT NULL, created_at INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS annotations (id TEXT PRIMARY KEY, workspace_path TEXT);
CREATE TABLE IF NOT EXISTS cron_tasks (id TEXT PRIMARY KEY, workspace_path TEXT);
CREATE TABLE IF NOT EXISTS utils (id TEXT PRIMARY KEY, workspace_path TEXT);
INSERT OR IGNORE INTO _migrations (version) SELECT value FROM json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]');`

// connector opens connections of its own driver value: tests may have the driver registered by another package.
type connector struct{ dsn string }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(c.dsn) }

func (c connector) Driver() driver.Driver { return &sqlite.Driver{} }

// openStore opens global.db as a young Tower has it: every table still in the -wal, since nothing is moved from there before it is closed.
func openStore(path string) (*sql.DB, error) {
	if f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	} else if err := f.Close(); err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector{"file://" + (&url.URL{Path: path}).EscapedPath() + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
		"&_pragma=foreign_keys(1)&_pragma=wal_autocheckpoint(0)"})
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN;" + tables + "COMMIT;"); err != nil {
		db.Close()
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	return db, nil
}

// Exec changes global.db by SQL, for rows that nothing else here makes. It panics where SQLite refuses.
func (s *Server) Exec(query string, args ...any) {
	if _, err := s.db.Exec(query, args...); err != nil {
		panic(fmt.Sprintf("change global.db: %v", err))
	}
}

// count gives the number that the query asks for.
func (s *Server) count(query string, args ...any) (n int) {
	if err := s.db.QueryRow(query, args...).Scan(&n); err != nil {
		panic(fmt.Sprintf("read global.db: %v", err))
	}
	return n
}

// text is how SQLite keeps times, in UTC without saying so; null for none.
func text(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.DateTime)
}

// orNull keeps an empty text as null.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// session is a row of terminal_sessions, as far as the Tower looks at it.
type session struct {
	id, workspace, kind, role string
	pid                       int
	socket                    string
	started                   sql.NullInt64
}

func (s *Server) sessions(workspace string) (out []session) {
	rows, err := s.db.Query(`SELECT id, workspace_path, type, coalesce(role_id, ''), coalesce(shellper_pid, pid, 0), coalesce(shellper_socket, ''),
		shellper_start_time FROM terminal_sessions WHERE ?1 = '' OR workspace_path = ?1 ORDER BY rowid`, workspace)
	if err != nil {
		panic(fmt.Sprintf("read global.db: %v", err))
	}
	defer rows.Close()
	for rows.Next() {
		var r session
		if err := rows.Scan(&r.id, &r.workspace, &r.kind, &r.role, &r.pid, &r.socket, &r.started); err != nil {
			panic(fmt.Sprintf("read global.db: %v", err))
		}
		out = append(out, r)
	}
	return out
}

func (s *Server) dropRow(id string) { s.Exec(`DELETE FROM terminal_sessions WHERE id = ?`, id) }
