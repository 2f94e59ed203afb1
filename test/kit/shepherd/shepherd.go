// Package shepherd makes Shepherd stores for tests: SQLite files with the tables that Winnow reads, all of their columns, and
// rows of made-up sessions such as Shepherd 1.46 writes.
package shepherd

import (
	"bytes"
	"database/sql"
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver of the stores that are made

	"github.com/winnow-reaper/winnow/test/kit/must"
)

var (
	//go:embed sessions.json
	sessions []byte
	//go:embed reviewer_spawns.json
	spawns []byte
)

// The places of the sessions that Sessions gives.
const (
	Running     = iota
	Archived    // merged and ended
	InRepo      // not isolated: works in the repository itself
	Terminal    // an operator's clean terminal
	MidRestore  // archived without the time of it
	numSessions // how many there are
)

// schema has the columns of Shepherd 1.46: 61 and 15, the claims of terminals, and what was last heard of pull requests.
const schema = `
CREATE TABLE sessions (
	id TEXT PRIMARY KEY, desig TEXT NOT NULL, name TEXT NOT NULL, prompt TEXT NOT NULL, repoPath TEXT NOT NULL, baseBranch TEXT NOT NULL,
	branch TEXT, worktreePath TEXT NOT NULL, isolated INTEGER NOT NULL, herdrSession TEXT NOT NULL, herdrAgentId TEXT NOT NULL,
	claudeSessionId TEXT NOT NULL DEFAULT '', providerSessionId TEXT NOT NULL DEFAULT '', agentProvider TEXT NOT NULL DEFAULT 'claude',
	model TEXT, effort TEXT, status TEXT NOT NULL, lastState TEXT NOT NULL, auto INTEGER NOT NULL DEFAULT 0, issueNumber INTEGER,
	createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL, archivedAt INTEGER, readyToMerge INTEGER NOT NULL DEFAULT 0,
	autopilotEnabled INTEGER, autopilotStepCount INTEGER NOT NULL DEFAULT 0, autopilotPaused INTEGER NOT NULL DEFAULT 0,
	autopilotComplete INTEGER NOT NULL DEFAULT 0, autopilotQuestion TEXT, completionRepromptCount INTEGER NOT NULL DEFAULT 0,
	planGateEnabled INTEGER, planPhase TEXT, autoMergeEnabled INTEGER, autoMergeRebaseCount INTEGER NOT NULL DEFAULT 0,
	autoMergeRebaseHead TEXT, autoMergeRebaseSteeredAt INTEGER, epicParent INTEGER, sandboxApplied TEXT,
	sandboxDegraded INTEGER NOT NULL DEFAULT 0, egressApplied INTEGER NOT NULL DEFAULT 0, egressDegraded INTEGER NOT NULL DEFAULT 0,
	mergingSince INTEGER, mergingTrainId TEXT, research INTEGER NOT NULL DEFAULT 0, epicAuthoring INTEGER NOT NULL DEFAULT 0,
	landingRepair INTEGER NOT NULL DEFAULT 0, terminal INTEGER NOT NULL DEFAULT 0, terminalTabId TEXT, terminalPaneId TEXT,
	mergeTrainPrs TEXT, mergingPrNumber INTEGER, haltReason TEXT, haltedAt INTEGER, manualStepsJson TEXT, manualStepsAckedAt INTEGER,
	experimentId TEXT, experimentRole TEXT, spawnTerminalId TEXT, spawnAccountDir TEXT, launchMetadataJson TEXT, archiveReason TEXT);
CREATE UNIQUE INDEX one_terminal ON sessions (repoPath) WHERE terminal = 1 AND archivedAt IS NULL;
CREATE TABLE reviewer_spawns (
	reviewerSessionId TEXT PRIMARY KEY, taskSessionId TEXT NOT NULL, kind TEXT NOT NULL, worktreePath TEXT NOT NULL, reviewerProvider TEXT,
	model TEXT, reviewerEffort TEXT, spawnedAt INTEGER NOT NULL, completedAt INTEGER, inputTokens INTEGER, outputTokens INTEGER,
	cacheReadTokens INTEGER, cacheWriteTokens INTEGER, totalTokens INTEGER, providerSessionId TEXT UNIQUE);
CREATE TABLE terminal_claims (repoPath TEXT PRIMARY KEY, sessionId TEXT NOT NULL, renewedAt INTEGER NOT NULL);
CREATE TABLE session_git_cache (sessionId TEXT PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE, gitJson TEXT NOT NULL, updatedAt INTEGER NOT NULL);`

// Row is a row by its columns.
type Row map[string]any

// With gives a copy of the row in which the columns of changes have other values; nil is NULL.
func (r Row) With(changes Row) Row {
	out := maps.Clone(r)
	maps.Copy(out, changes)
	return out
}

// Sessions gives rows of sessions, one of every shape, in the order of the constants.
func Sessions(tb testing.TB) []Row {
	tb.Helper()
	all := rows(tb, sessions)
	if len(all) != numSessions {
		tb.Fatalf("%d sessions in the file, %d have names", len(all), numSessions)
	}
	return all
}

// Spawns gives rows of helper agents: an open plan gate and a completed review, both of the session Running.
func Spawns(tb testing.TB) []Row {
	tb.Helper()
	return rows(tb, spawns)
}

func rows(tb testing.TB, text []byte) (all []Row) {
	tb.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	must.Do(tb, dec.Decode(&all))
	for _, r := range all {
		for column, v := range r {
			if n, ok := v.(json.Number); ok {
				r[column] = must.Get(n.Int64())(tb)
			}
		}
	}
	return all
}

// Store is a Shepherd store that a test writes as Shepherd would: in rollback mode.
type Store struct {
	Path string
	DB   *sql.DB
	tb   testing.TB
}

// New makes a store with empty tables at path. The test's end closes it.
func New(tb testing.TB, path string) *Store {
	tb.Helper()
	db := must.Get(sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)"))(tb)
	db.SetMaxOpenConns(1)
	tb.Cleanup(func() { db.Close() })
	s := &Store{Path: path, DB: db, tb: tb}
	s.Exec(schema)
	return s
}

// Exec runs SQL.
func (s *Store) Exec(query string, args ...any) {
	s.tb.Helper()
	if _, err := s.DB.Exec(query, args...); err != nil {
		s.tb.Fatalf("%s: %v", query, err)
	}
}

// Insert adds rows to a table, all of them in one transaction.
func (s *Store) Insert(table string, rows ...Row) {
	s.tb.Helper()
	tx := must.Get(s.DB.Begin())(s.tb)
	defer tx.Rollback()
	for _, r := range rows {
		columns := slices.Sorted(maps.Keys(r))
		args := make([]any, len(columns))
		for i, c := range columns {
			args[i] = r[c]
		}
		query := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
		if _, err := tx.Exec(query, args...); err != nil {
			s.tb.Fatalf("insert into %s: %v", table, err)
		}
	}
	must.Do(s.tb, tx.Commit())
}
