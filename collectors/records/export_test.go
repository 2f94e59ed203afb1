package records

// AllLines is Lines with the records that it gave.
func AllLines(data []byte) (all []Record, bad int, err error) {
	bad, err = Lines(data, func(r Record) error { all = append(all, r); return nil })
	return all, bad, err
}
