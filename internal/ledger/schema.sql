-- The tables of a ledger. SQLite keeps these statements as they stand here, and a file with others is not taken for a
-- ledger: a change of one letter is another version. The columns behind the end of a table were added to it once.

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
, rules TEXT NOT NULL DEFAULT '', boot_id TEXT NOT NULL DEFAULT '', sources TEXT, saved INTEGER) STRICT;
CREATE INDEX sweeps_started ON sweeps(started);
-- rules and boot_id are what the sweep was decided by and in which boot, sources how much it read from those that
-- speak for owners, as JSON, NULL for a cleanup. saved is the order in which decisions of sweeps were saved; NULL
-- where there are none.
CREATE UNIQUE INDEX sweeps_saved ON sweeps(saved);

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
, counted REAL NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
CREATE INDEX acts_at ON acts(at);
CREATE INDEX acts_unsettled ON acts(id) WHERE settled_at IS NULL;
CREATE INDEX acts_kept ON acts(restore_until) WHERE restore_until IS NOT NULL AND restored_at IS NULL AND purged_at IS NULL;
CREATE INDEX acts_sweep ON acts(sweep, candidate);
-- counted is what looks.counted was when the act was begun.

CREATE TABLE looks (
	one            INTEGER PRIMARY KEY CHECK (one = 1),
	at             INTEGER NOT NULL,
	boot_id        TEXT NOT NULL,
	up_seconds     REAL,
	awake_seconds  REAL,
	steady_since   INTEGER,
	last_resume_at INTEGER
, counted REAL NOT NULL DEFAULT 0, asleep TEXT) STRICT;
-- counted are seconds that passed between looks, by the machine's own count; asleep is when the machine slept, as
-- JSON, NULL where that is not known.

-- What the latest sweeps saw, redacted and compressed (gzip).
CREATE TABLE recordings (
	n        INTEGER PRIMARY KEY,          -- the order in which they were made
	sweep    TEXT NOT NULL UNIQUE,
	at       INTEGER NOT NULL,
	bytes    INTEGER NOT NULL,             -- of the document before it was compressed
	document BLOB NOT NULL
) STRICT;

-- What was written about acts, each with a digest over the one before. See chain.go.
CREATE TABLE chain (
	n     INTEGER PRIMARY KEY,             -- 1, 2, 3 and so on, without a gap
	act   TEXT NOT NULL,
	event TEXT NOT NULL,
	at    INTEGER NOT NULL,
	row   TEXT NOT NULL,                   -- the digest of the act's row as it was written
	link  TEXT NOT NULL                    -- the digest over all of this and the link before
) STRICT;
CREATE INDEX chain_act ON chain(act, n);

CREATE TABLE chain_head (
	one  INTEGER PRIMARY KEY CHECK (one = 1),
	n    INTEGER NOT NULL,
	link TEXT NOT NULL
) STRICT;

-- Decisions on their way to a decision log, masked, as JSON, and how many had to be left out for lack of room.
CREATE TABLE logged (
	n      INTEGER PRIMARY KEY,
	sink   TEXT NOT NULL,
	id     TEXT NOT NULL,                  -- the decision's
	event  TEXT NOT NULL,
	UNIQUE (sink, id)
) STRICT;

CREATE TABLE logged_dropped (
	sink    TEXT PRIMARY KEY,
	count   INTEGER NOT NULL,
	last_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What the daemon remembers of its brakes, as JSON.
CREATE TABLE brakes (
	one    INTEGER PRIMARY KEY CHECK (one = 1),
	memory TEXT NOT NULL
) STRICT;

-- The folders below which acts on folders were begun: there a trash may be. To read them from the acts would take
-- longer with every act.
CREATE TABLE roots (path TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

-- What was decided of a candidate by which rules, and from which sweep on.
CREATE TABLE standing (
	k      INTEGER PRIMARY KEY,
	since  INTEGER NOT NULL,               -- sweeps.saved of the first sweep that decided so
	until  INTEGER,                        -- of the first one after it that did not; NULL while it stands
	id     TEXT NOT NULL,
	label  TEXT NOT NULL,
	ruling INTEGER NOT NULL                -- rulings.k
) STRICT;
CREATE INDEX standing_then ON standing(until) WHERE until IS NOT NULL;

-- What was decided of many candidates alike.
CREATE TABLE rulings (
	k              INTEGER PRIMARY KEY,
	kind           TEXT NOT NULL,
	verdict        TEXT NOT NULL,
	owner          TEXT NOT NULL,
	findings       TEXT NOT NULL,          -- ids of rules, with spaces between
	objections     TEXT NOT NULL,
	first_sighting INTEGER NOT NULL
) STRICT;

-- What the latest look remembers for the next one, as compressed JSON.
CREATE TABLE remembered (
	name  TEXT PRIMARY KEY,
	value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
