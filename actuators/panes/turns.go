package panes

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Turns counts how often the process's first thread has given up the processor (voluntary_ctxt_switches and its like in
// proc_pid_status(5)). While the count stands still and the thread sleeps, it has done nothing at all in between: whatever is
// typed wakes the shell that reads it, also what starts no process.
func Turns(h *Held) (uint64, error) {
	text, err := h.Read("status")
	if err != nil {
		return 0, err
	}
	var sum uint64
	found := 0
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if !bytes.HasSuffix(name, []byte("voluntary_ctxt_switches")) {
			continue
		}
		n, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read status: %w", err)
		}
		sum += n
		found++
	}
	if found != 2 {
		return 0, errors.New("read status: how often it has run is not in it")
	}
	return sum, nil
}
