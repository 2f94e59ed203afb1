package records

import "github.com/winnow-reaper/winnow/engine/snapshot"

// AllLines is Lines with the records that it gave.
func AllLines(data []byte) (all []Record, bad int, err error) {
	bad, err = Lines(data, func(r Record) error { all = append(all, r); return nil })
	return all, bad, err
}

// ParseEntries reads a registry in the format JSON or JSONL, ParseSpawns a spawn ledger.
func ParseEntries(data []byte, format string) (all []snapshot.Record, bad int, err error) {
	if format == JSONL {
		return parseEntries(Lines, entry)(data, Options{})
	}
	return parseEntries(document, entry)(data, Options{})
}

func ParseSpawns(data []byte, format string) (all []snapshot.Record, bad int, err error) {
	if format == JSONL {
		return parseSpawns(Lines)(data, Options{})
	}
	return parseSpawns(Array)(data, Options{})
}
