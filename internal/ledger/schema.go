package ledger

import (
	"context"
	"database/sql"
	"fmt"
)

// migrations bring a ledger from one version (PRAGMA user_version) to the next; the first makes a new one. They are never
// changed once released, only added to.
var migrations = []string{`
CREATE TABLE sweeps (
	n        INTEGER PRIMARY KEY,          -- the order in which they began
	id       TEXT NOT NULL UNIQUE,
	started  INTEGER NOT NULL,
	finished INTEGER,
	mode     TEXT NOT NULL,
	revision TEXT NOT NULL,
	digest   TEXT NOT NULL,
	counts   TEXT,
	exit     INTEGER,
	pruned   INTEGER NOT NULL DEFAULT 0    -- 1: its decisions that led to no act are gone
) STRICT;
CREATE INDEX sweeps_started ON sweeps(started);

CREATE TABLE decisions (
	n             INTEGER NOT NULL REFERENCES sweeps(n) ON DELETE CASCADE,
	id            TEXT NOT NULL,
	kind          TEXT NOT NULL,
	verdict       TEXT NOT NULL,
	label         TEXT NOT NULL,
	owner         TEXT NOT NULL,
	findings      TEXT NOT NULL,
	objections    TEXT NOT NULL,
	first_sighting INTEGER NOT NULL
) STRICT;
CREATE INDEX decisions_sweep ON decisions(n);

CREATE TABLE sightings (
	id       TEXT PRIMARY KEY,
	rule     TEXT NOT NULL,
	identity TEXT NOT NULL,
	first_at INTEGER NOT NULL,
	last_at  INTEGER NOT NULL,
	count    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE holds (
	id     TEXT NOT NULL,
	owner  TEXT NOT NULL,
	reason TEXT NOT NULL,
	since  INTEGER NOT NULL,
	until  INTEGER,
	PRIMARY KEY (id, owner)
) STRICT, WITHOUT ROWID;

CREATE TABLE acts (
	id            TEXT PRIMARY KEY,
	sweep         TEXT NOT NULL,
	candidate     TEXT NOT NULL,
	at            INTEGER NOT NULL,
	intent        TEXT NOT NULL,
	outcome       TEXT,
	settled_at    INTEGER,
	restore_until INTEGER,                 -- set when what was set aside can be brought back
	restored_at   INTEGER,
	purged_at     INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX acts_at ON acts(at);
CREATE INDEX acts_unsettled ON acts(id) WHERE settled_at IS NULL;
CREATE INDEX acts_kept ON acts(restore_until) WHERE restore_until IS NOT NULL AND restored_at IS NULL AND purged_at IS NULL;
CREATE INDEX acts_sweep ON acts(sweep, candidate);

CREATE TABLE looks (
	one            INTEGER PRIMARY KEY CHECK (one = 1),
	at             INTEGER NOT NULL,
	boot_id        TEXT NOT NULL,
	up_seconds     REAL,
	awake_seconds  REAL,
	steady_since   INTEGER,
	last_resume_at INTEGER
) STRICT;
`, `
CREATE TABLE scope (
	id           TEXT PRIMARY KEY,
	source       TEXT NOT NULL,
	born         INTEGER,
	out_since    INTEGER,                  -- set while it is seen and no rule claims it
	unseen_since INTEGER                   -- set while it cannot be said whether it is there
) STRICT, WITHOUT ROWID;

CREATE TABLE scope_rules (
	one   INTEGER PRIMARY KEY CHECK (one = 1),
	rules TEXT NOT NULL
) STRICT;

CREATE TABLE peaks (
	kind      TEXT PRIMARY KEY,
	at        INTEGER NOT NULL,
	seen      INTEGER NOT NULL,
	in_scope  INTEGER NOT NULL,
	low_since INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE sources (
	name      TEXT PRIMARY KEY,
	ok_at     INTEGER,
	bad_since INTEGER,
	looks     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE refusals (
	candidate TEXT PRIMARY KEY,
	kind      TEXT NOT NULL,
	label     TEXT NOT NULL,
	identity  TEXT NOT NULL,
	outcome   TEXT NOT NULL,
	detail    TEXT NOT NULL,
	first_at  INTEGER NOT NULL,
	last_at   INTEGER NOT NULL,
	count     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE capped (
	kind     TEXT PRIMARY KEY,
	detail   TEXT NOT NULL,
	first_at INTEGER NOT NULL,
	last_at  INTEGER NOT NULL,
	count    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`, `
CREATE TABLE owners (
	source    TEXT NOT NULL,
	terminal  TEXT NOT NULL,
	workspace TEXT NOT NULL,
	builder   TEXT NOT NULL,
	worktree  TEXT NOT NULL,
	first_at  INTEGER NOT NULL,
	last_at   INTEGER NOT NULL,
	PRIMARY KEY (source, terminal)
) STRICT, WITHOUT ROWID;
`, `
-- Seconds that passed between looks, by the machine's own count; of an act, what looks had when it was begun.
ALTER TABLE looks ADD COLUMN counted REAL NOT NULL DEFAULT 0;
ALTER TABLE acts ADD COLUMN counted REAL NOT NULL DEFAULT 0;
`, `
-- What kind of terminal it was, its shellper's process in which boot, and when the builder's row was seen with it.
ALTER TABLE owners ADD COLUMN kind TEXT NOT NULL DEFAULT '';
ALTER TABLE owners ADD COLUMN boot_id TEXT NOT NULL DEFAULT '';
ALTER TABLE owners ADD COLUMN pid INTEGER NOT NULL DEFAULT 0;
ALTER TABLE owners ADD COLUMN start_ticks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE owners ADD COLUMN row_at INTEGER;
UPDATE owners SET row_at = last_at;
`, `
-- When the machine slept, as JSON; NULL where that is not known.
ALTER TABLE looks ADD COLUMN asleep TEXT;
-- Of processes: since when none was seen to work, and what it and all below it had done by then, as JSON.
ALTER TABLE sightings ADD COLUMN idle_since INTEGER;
ALTER TABLE sightings ADD COLUMN work TEXT;
`, `
-- The tmux sessions in whose panes a look saw an agent.
CREATE TABLE agent_sessions (
	id           TEXT PRIMARY KEY,
	server_ticks INTEGER NOT NULL,
	created_at   INTEGER NOT NULL,
	agent        TEXT NOT NULL,
	last_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`, `
-- What a sweep was decided by, in which boot, and how much it read from the sources that speak for owners, as JSON; NULL for a cleanup.
ALTER TABLE sweeps ADD COLUMN rules TEXT NOT NULL DEFAULT '';
ALTER TABLE sweeps ADD COLUMN boot_id TEXT NOT NULL DEFAULT '';
ALTER TABLE sweeps ADD COLUMN sources TEXT;
`, `
-- Which processes looks saw below which agents; agents as JSON.
CREATE TABLE descents (
	pid         INTEGER PRIMARY KEY,
	boot_id     TEXT NOT NULL,
	start_ticks INTEGER NOT NULL,
	agents      TEXT NOT NULL,
	last_at     INTEGER
) STRICT;
`, logged, changed, `
-- What the daemon remembers of its brakes, as JSON.
CREATE TABLE brakes (
	one    INTEGER PRIMARY KEY CHECK (one = 1),
	memory TEXT NOT NULL
) STRICT;
`, `
-- The folders below which acts on folders were begun: there a trash may be. To read them from the acts would take longer with every act.
CREATE TABLE roots (path TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO roots SELECT DISTINCT root FROM (
	SELECT CASE WHEN json_valid(intent) THEN json_extract(intent, '$.identity.dir.root') END AS root FROM acts
) WHERE typeof(root) = 'text' AND root <> '';
`, `
-- That an agent was seen in a session says nothing of whose session it is.
DROP TABLE agent_sessions;
`, byRule}

// migrate brings the ledger to this version. Two processes that open a new one at the same time do not disturb each other: the
// version is read again under the write lock.
func (l *Ledger) migrate(ctx context.Context) error {
	if v, err := l.version(ctx); err != nil || v == len(l.versions) {
		return err
	}
	return l.write(ctx, func(tx *sql.Tx) error {
		var v int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v); err != nil {
			return err
		}
		if v < 0 || v > len(l.versions) {
			return fmt.Errorf("%w: it has become version %d", ErrCorrupt, v)
		}
		for ; v < len(l.versions); v++ {
			if _, err := tx.ExecContext(ctx, l.versions[v]); err != nil {
				return fmt.Errorf("bring it to version %d: %w", v+1, err)
			}
			if l.versions[v] == logged {
				if err := chainAll(ctx, tx); err != nil {
					return fmt.Errorf("bring it to version %d: chain the acts: %w", v+1, err)
				}
			}
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", v))
		return err
	})
}
