package ledger

// changed is the migration that has decisions written when they change. From then on the table decisions has only those that led to an act of sweeps
// whose other decisions are gone, and, until they are pruned, those of sweeps of before.
const changed = `
-- What was decided of a candidate and from which sweep on: the texts are of that sweep. Of the later ones ticks has what else changed.
CREATE TABLE standing (
	k              INTEGER PRIMARY KEY,
	since          INTEGER NOT NULL,       -- sweeps.saved of the first sweep that decided so
	until          INTEGER,                -- of the first one after it that did not; NULL while it stands
	id             TEXT NOT NULL,
	kind           TEXT NOT NULL,
	verdict        TEXT NOT NULL,
	label          TEXT NOT NULL,
	owner          TEXT NOT NULL,
	findings       TEXT NOT NULL,
	objections     TEXT NOT NULL,
	first_sighting INTEGER NOT NULL
) STRICT;
CREATE INDEX standing_now ON standing(id) WHERE until IS NULL;
CREATE INDEX standing_then ON standing(until) WHERE until IS NOT NULL;

-- By which the numbers in the texts of what stood at a sweep differ from those that standing has, packed.
CREATE TABLE ticks (
	saved   INTEGER PRIMARY KEY,
	changes BLOB NOT NULL
) STRICT;

-- The order in which decisions of sweeps were saved; NULL where there are none, and of sweeps whose decisions are in the table decisions.
ALTER TABLE sweeps ADD COLUMN saved INTEGER;
CREATE UNIQUE INDEX sweeps_saved ON sweeps(saved);

-- When a table was saved last and how often it was. Times in it that are of that moment are kept as the earliest that there is, so that a row that
-- only was seen again is not written again.
CREATE TABLE saves (
	name  TEXT PRIMARY KEY,
	at    INTEGER,
	count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`

// byRule is the migration that has decisions kept by their rules, and what looks remember in one piece. What was remembered is forgotten: things that are
// seen for the first time stay.
const byRule = `
DROP TABLE ticks;
DROP TABLE decisions;
DROP TABLE standing;
DROP TABLE saves;
DROP TABLE sightings;
DROP TABLE owners;
DROP TABLE descents;
UPDATE sweeps SET pruned = 1, saved = NULL;

-- What was decided of a candidate by which rules, and from which sweep on.
CREATE TABLE standing (
	k              INTEGER PRIMARY KEY,
	since          INTEGER NOT NULL,       -- sweeps.saved of the first sweep that decided so
	until          INTEGER,                -- of the first one after it that did not; NULL while it stands
	id             TEXT NOT NULL,
	kind           TEXT NOT NULL,
	verdict        TEXT NOT NULL,
	label          TEXT NOT NULL,
	owner          TEXT NOT NULL,
	findings       TEXT NOT NULL,          -- ids of rules, with spaces between
	objections     TEXT NOT NULL,
	first_sighting INTEGER NOT NULL
) STRICT;
CREATE INDEX standing_now ON standing(id) WHERE until IS NULL;
CREATE INDEX standing_then ON standing(until) WHERE until IS NOT NULL;

-- What the latest look remembers for the next one, as compressed JSON.
CREATE TABLE remembered (
	name  TEXT PRIMARY KEY,
	value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
`
