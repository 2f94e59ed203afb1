package subject

import (
	"slices"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// Dead is true for a process that has ended and was not waited for yet. One with a second thread is alive: its leader has ended.
func Dead(p *snapshot.Process) bool { return dead(p) }

// Has reports whether a record of an open session is of that very process, by its number, its user and when it began.
func (j *Index) Has(o *snapshot.OpenSession, p *snapshot.Process) bool {
	return o.PID == p.PID && opened(o, p, j.snap.Host.UID)
}

// Ended reports whether a record of a registry says that its owner has ended, by its format or by its word.
func (c *Config) Ended(r *snapshot.Record) bool { return c.ended(r.Terminal, r.Status) }

func (c *Config) ended(terminal *bool, status string) bool {
	if terminal != nil {
		return *terminal
	}
	return c != nil && slices.Contains(c.TerminalStatuses, status)
}
