-- The tables of the file of grants, as schema.sql has those of a ledger.

CREATE TABLE holds (
	id     TEXT NOT NULL,
	owner  TEXT NOT NULL,
	reason TEXT NOT NULL,
	since  INTEGER NOT NULL,
	until  INTEGER,
	PRIMARY KEY (id, owner)
) STRICT, WITHOUT ROWID;

CREATE TABLE acts (
	id    TEXT PRIMARY KEY,
	taken TEXT NOT NULL,                   -- what it takes, as JSON
	ended INTEGER                          -- when it was taken; NULL while the act is under way
) STRICT, WITHOUT ROWID;
