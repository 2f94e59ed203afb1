package ledger

// logged is the migration that makes room for recordings, for the chain of acts and for decisions that are to be logged.
const logged = `
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
`
